import { film, jpeg, png, svg } from './media.ts';
import { html, list, type Origins, plain, type Resource, type Site, upTo, xml } from './site.ts';

const ALBUMS = 5;
const FILM_BYTES = 65_536;

/** Pictures and a film. */
export function gallery(origins: Origins): Site {
  const albums = upTo(ALBUMS).map((number): [string, Resource] => {
    const pictures = [`/pictures/${number}.png`, `/pictures/${number}.jpg`].map((src) => `<img src="${src}" alt="">`);
    const body = `<p>${pictures.join('\n')}</p>\n${list([
      ['/', 'All albums'],
      [`/pictures/${number}.png`, 'Full size'],
    ])}`;
    return [`/albums/${number}`, html(`Album ${number}`, body)];
  });
  const pictures = upTo(ALBUMS).flatMap((number): [string, Resource][] => [
    [`/pictures/${number}.png`, media('image/png', png(16, 16, [40 * number, 90, 255 - 40 * number]))],
    [`/pictures/${number}.jpg`, media('image/jpeg', jpeg(6 * number))],
  ]);
  const home = `<p><img src="/logo.svg" alt="Logo"></p>
${list([...albums.map(([path]): [string, string] => [path, path]), ['/film', 'A film'], [`${origins.library}/`, 'The library']])}`;
  return {
    resources: new Map<string, Resource>([
      ['/', html('The gallery', home)],
      ['/robots.txt', plain('User-agent: *\nDisallow:\n')],
      ['/logo.svg', media('image/svg+xml', svg('Gallery'))],
      ['/film', html('A film', '<video src="/film.mp4" controls></video>\n<p><a href="/film.mp4">Download</a></p>')],
      ['/film.mp4', media('video/mp4', film(FILM_BYTES))],
      ...albums,
      ...pictures,
    ]),
  };
}

function media(contentType: string, body: string | Uint8Array) {
  return { headers: { 'content-type': contentType }, body };
}

/** Descriptions of web services, one of them without the usual extension, and one file that only pretends. */
export function services(origins: Origins): Site {
  const links: [string, string][] = [
    ['/weather.wsdl', 'Weather'],
    ['/services/stocks', 'Stocks'],
    ['/decoy.wsdl', 'About WSDL'],
    ['/news.xml', 'News'],
    [`${origins.library}/`, 'The library'],
  ];
  const news = '<news><item>Some XML is no service at all.</item></news>';
  return {
    // No robots.txt here: everything may be asked for.
    resources: new Map<string, Resource>([
      ['/', html('Web services', list(links))],
      ['/weather.wsdl', xml(wsdl('Weather', `${origins.services}/weather`), 'application/wsdl+xml')],
      ['/services/stocks', xml(wsdl('Stocks', `${origins.services}/services/stocks`), 'text/xml')],
      ['/decoy.wsdl', html('About WSDL', '<p>This is no service description, whatever its name says.</p>')],
      ['/news.xml', xml(news)],
    ]),
  };
}

function wsdl(name: string, address: string): string {
  return `<wsdl:definitions name="${name}" targetNamespace="urn:demo:${name}" xmlns:tns="urn:demo:${name}"
    xmlns:wsdl="http://schemas.xmlsoap.org/wsdl/" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/"
    xmlns:xsd="http://www.w3.org/2001/XMLSchema">
  <wsdl:message name="Question"><wsdl:part name="text" type="xsd:string"/></wsdl:message>
  <wsdl:message name="Reply"><wsdl:part name="text" type="xsd:string"/></wsdl:message>
  <wsdl:portType name="${name}Port">
    <wsdl:operation name="Ask"><wsdl:input message="tns:Question"/><wsdl:output message="tns:Reply"/></wsdl:operation>
  </wsdl:portType>
  <wsdl:binding name="${name}Binding" type="tns:${name}Port">
    <soap:binding transport="http://schemas.xmlsoap.org/soap/http" style="rpc"/>
  </wsdl:binding>
  <wsdl:service name="${name}">
    <wsdl:port name="${name}Port" binding="tns:${name}Binding"><soap:address location="${address}"/></wsdl:port>
  </wsdl:service>
</wsdl:definitions>`;
}

/** A calendar without end, on a host that asks for a little time between requests. */
export function calendar(origins: Origins): Site {
  const home = list([
    ['/2026/1', 'January 2026'],
    [`${origins.library}/`, 'The library'],
  ]);
  return {
    resources: new Map<string, Resource>([
      ['/', html('The calendar', home)],
      ['/robots.txt', plain('User-agent: *\nCrawl-delay: 0.2\nDisallow: /week/\n')],
    ]),
    other(path) {
      const [, yearText, monthText] = /^\/(\d{4})\/(\d{1,2})$/.exec(path) ?? [];
      const [year, month] = [Number(yearText), Number(monthText)];
      if (yearText === undefined || month < 1 || month > 12) return undefined;
      const next = month === 12 ? `/${year + 1}/1` : `/${year}/${month + 1}`;
      return html(
        `Month ${month} of ${year}`,
        list([
          [next, 'Next month'],
          [`/week/${year}-${month}`, 'By week'],
        ]),
      );
    },
  };
}

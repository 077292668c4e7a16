import { type Fault, faultsOf } from './fault.ts';
import { answer, head, page } from './peer.ts';

/** An answer with these lines in its head, as they are. */
function withLines(title: string, lines: string): string {
  const body = page(title);
  return `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${body.length}\r\n${lines}\r\n\r\n${body}`;
}

const many = (count: number, line: (i: number) => string): string[] => Array.from({ length: count }, (_, i) => line(i));

/** Misbehaviour in the fields of a head. */
export const HEADER_FAULTS: readonly Fault[] = faultsOf('answer', [
  [
    'header-flood-count',
    'Sends 1,500 short fields.',
    (peer) => peer.send(answer(page('fields'), ...many(1500, (i) => `X${i}: 1`))),
  ],
  [
    'header-flood-bytes',
    'Sends 50 fields of 8 KiB each.',
    (peer) => peer.send(answer(page('bytes'), ...many(50, (i) => `X-${i}: ${'v'.repeat(8192)}`))),
  ],
  [
    'header-line-huge',
    'Sends one field of 1 MiB.',
    (peer) => peer.send(answer(page('line'), `X-Huge: ${'v'.repeat(2 ** 20)}`)),
  ],
  [
    'header-endless',
    'Sends a field that never ends.',
    (peer) => peer.send('HTTP/1.1 200 OK\r\nX-Endless: ').flood(() => 'e'.repeat(16_384)),
  ],
  [
    'header-endless-fields',
    'Sends fields without end.',
    (peer) => peer.send('HTTP/1.1 200 OK\r\n').flood((i) => `X-${i}: more\r\n`),
  ],
  [
    'header-fold',
    'Folds a field over several lines.',
    (peer) => peer.send(withLines('fold', 'X-Folded: one\r\n two\r\n\tthree')),
  ],
  [
    'header-fold-first',
    'Begins the head with a folded line.',
    (peer) => peer.send(`HTTP/1.1 200 OK\r\n folded: yes\r\nContent-Length: 0\r\n\r\n`),
  ],
  ['header-nul', 'Has a NUL in a value.', (peer) => peer.send(withLines('nul', 'X-Nul: a\0b'))],
  [
    'header-control-chars',
    'Has control characters in a value.',
    (peer) => peer.send(withLines('control', 'X-Control: \x01\x07\x1b[31m\x7f')),
  ],
  [
    'header-bare-cr',
    'Ends lines with CR alone.',
    (peer) => peer.send(withLines('cr', 'X-One: 1\rX-Two: 2\rX-Three: 3')),
  ],
  [
    'header-bare-lf',
    'Ends lines with LF alone.',
    (peer) => peer.send(withLines('lf', 'X-One: 1').replaceAll('\r\n', '\n')),
  ],
  ['header-no-colon', 'Has a line without a colon.', (peer) => peer.send(withLines('colon', 'what is this'))],
  [
    'header-space-before-colon',
    'Has a space between name and colon.',
    (peer) => peer.send(withLines('space', 'X-Spaced : yes')),
  ],
  ['header-no-name', 'Has a field without a name.', (peer) => peer.send(withLines('name', ': nobody'))],
  [
    'header-high-bytes',
    'Has bytes in a value that are no text of any kind.',
    (peer) => peer.send(withLines('bytes', `X-Bytes: \xff\xfe\x80\xc3(${'\xf0\x9f'.repeat(20)}`)),
  ],
  [
    'header-prototype',
    'Names fields after what objects inherit.',
    (peer) =>
      peer.send(withLines('proto', '__proto__: polluted\r\nconstructor: x\r\nhasOwnProperty: y\r\ntoString: z')),
  ],
  [
    'header-unfinished',
    'Closes in the middle of the head.',
    (peer) => peer.end('HTTP/1.1 200 OK\r\nContent-Type: text/ht'),
  ],
  [
    'header-repeated',
    'Sends each field that should be single three times, each time otherwise.',
    (peer) =>
      peer.send(
        withLines(
          'repeated',
          many(
            3,
            (i) => `Content-Type: text/${i}\r\nETag: "${i}"\r\nLast-Modified: ${i}\r\nDate: ${i}\r\nServer: ${i}`,
          ).join('\r\n'),
        ),
      ),
  ],
  [
    'set-cookie-flood',
    'Sets 90 cookies of 100 bytes, for every domain it can think of.',
    (peer) =>
      peer.send(
        answer(
          page('cookies'),
          ...many(
            90,
            (i) =>
              `Set-Cookie: c${i}=${'x'.repeat(60)}; Domain=${['com', 'example', '.', '127.0.0.1'][i % 4]}; Max-Age=1e99`,
          ),
        ),
      ),
  ],
  [
    'set-cookie-nonsense',
    'Sets cookies that are none.',
    (peer) =>
      peer.send(
        answer(
          page('nonsense'),
          'Set-Cookie: ',
          'Set-Cookie: ;;;=;',
          'Set-Cookie: =',
          `Set-Cookie: ${'a='.repeat(2000)}`,
          'Set-Cookie: a=b; Expires=Never; Path=\xff; Max-Age=-; SameSite=Maybe; =',
        ),
      ),
  ],
  [
    'link-header-flood',
    'Has a Link field of 1,000 links, and one with a quote that is never closed.',
    (peer) =>
      peer.send(
        answer(
          page('links'),
          `Link: ${many(1000, (i) => `</${i}>;a`).join(',')}`,
          `Link: </x>; title="${'\\"<,;'.repeat(500)}`,
        ),
      ),
  ],
  [
    'content-type-absurd',
    'Has a content type that is none, with parameters to match.',
    (peer) =>
      peer.send(
        answer(
          page('type'),
          `Content-Type: ${';'.repeat(500)}text//html;;=;charset="\\"; charset==utf-8;${'q="'.repeat(900)}`,
        ),
      ),
  ],
  [
    'content-type-missing',
    'Says no content type, and sends bytes of none.',
    (peer) => peer.send(head('200 OK', 'Content-Length: 12'), '\x89\0\xff<\0\0\x01>\x7f\0\0\0'),
  ],
  [
    'charset-unknown',
    'Names a charset that does not exist.',
    (peer) => peer.send(answer(page('\xe4\xf6'), `Content-Type: text/html; charset=klingon-${'9'.repeat(300)}`)),
  ],
  [
    'charset-lies',
    'Says UTF-16 of a page in bytes, and has an odd number of them.',
    (peer) => peer.send(answer(`${page('\xff')}!`, 'Content-Type: text/html; charset=utf-16le')),
  ],
  [
    'keep-alive-absurd',
    'Promises to keep the connection for a negative time and endless requests.',
    (peer) =>
      peer.send(
        answer(
          page('alive'),
          'Connection: keep-alive, close, keep-alive',
          'Keep-Alive: timeout=-1, max=1e999, timeout',
        ),
      ),
  ],
  [
    'refresh-absurd',
    'Asks to be loaded again by header, at once, from itself and from nowhere.',
    (peer) =>
      peer.send(
        answer(
          page('refresh'),
          `Refresh: 0;url=${peer.base}/${peer.n}`,
          'Refresh: ;;URL=\'"http://[',
          'Refresh: -1e9; url=javascript:alert(1)',
        ),
      ),
  ],
]);

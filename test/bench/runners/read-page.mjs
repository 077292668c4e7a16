// What a user's handler does: a few questions to the document, and plain data for an answer.
export default function readPage(page) {
  const { $ } = page;
  return {
    title: $('title').text(),
    items: $('li.item')
      .map((_, item) => $(item).find('b').text())
      .get(),
    links: $('a[href]')
      .map((_, a) => $(a).attr('title'))
      .get(),
    words: $('p em').text().split(' ').length,
  };
}

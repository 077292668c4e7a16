/** Finds the heads of requests in what comes; `tooMuch` is called where one has no end within so many bytes. */
export function headReader(
  onHead: (head: string) => void,
  tooMuch: () => void,
  mostBytes = 65_536,
): (data: Buffer) => void {
  let text = '';
  return (data) => {
    text += data.toString('latin1');
    for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
      const head = text.slice(0, end);
      text = text.slice(end + 4);
      onHead(head);
    }
    if (text.length > mostBytes) tooMuch();
  };
}

import { crc32, deflateSync } from 'node:zlib';

/** A PNG of one colour. */
export function png(width: number, height: number, [red, green, blue]: readonly [number, number, number]): Uint8Array {
  const row = Buffer.alloc(1 + 3 * width);
  for (let x = 0; x < width; x++) row.set([red, green, blue], 1 + 3 * x);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(Buffer.concat(Array.from({ length: height }, () => row)))),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, data: Uint8Array): Buffer {
  const content = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const chunk = Buffer.alloc(content.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  chunk.set(content, 4);
  chunk.writeUInt32BE(crc32(content), content.length + 4);
  return chunk;
}

/** A JPEG of 8 × 8 pixels in one of 32 light greys: one block with a DC coefficient and no other. */
export function jpeg(shade: number): Uint8Array {
  // Huffman code 01 says "six bits follow"; the six bits are 32 to 63; then 0 ends the block, and ones fill the bytes.
  const bits = (0b01 << 14) | ((32 + (shade & 31)) << 8) | 0b01111111;
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    jpegSegment(0xdb, [0, ...new Array(64).fill(8)]),
    jpegSegment(0xc0, [8, 0, 8, 0, 8, 1, 1, 0x11, 0]),
    jpegSegment(0xc4, [0x00, 0, 2, ...new Array(14).fill(0), 0x00, 0x06]),
    jpegSegment(0xc4, [0x10, 1, ...new Array(15).fill(0), 0x00]),
    jpegSegment(0xda, [1, 1, 0x00, 0, 63, 0]),
    Buffer.from([bits >> 8, bits & 0xff, 0xff, 0xd9]),
  ]);
}

function jpegSegment(marker: number, content: readonly number[]): Buffer {
  const length = content.length + 2;
  return Buffer.from([0xff, marker, length >> 8, length & 0xff, ...content]);
}

export function svg(label: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="120" height="40"><text x="10" y="25">${label}</text></svg>\n`;
}

/** Bytes in the boxes of an MP4 file: a type, and noise where the film would be. */
export function film(bytes: number): Uint8Array {
  const type = mp4Box('ftyp', Buffer.from('isom\0\0\u0002\0isomiso2mp41', 'latin1'));
  const noise = Buffer.alloc(bytes);
  let state = 1;
  for (let i = 0; i < bytes; i++) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    noise[i] = state >>> 16;
  }
  return Buffer.concat([type, mp4Box('mdat', noise)]);
}

function mp4Box(type: string, content: Uint8Array): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(content.length + 8, 0);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, content]);
}

/** Writes fields one after another into a buffer that is used again for the next value. */
export class ByteWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(4096);
  #at = 0;

  /** Begins a new value; the view of the last one is void from here on. */
  start(): this {
    this.#at = 0;
    return this;
  }

  /** What was written since `start`, good until the next value is begun. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  u8(value: number): this {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
    return this;
  }

  u32(value: number): this {
    this.#reserve(4);
    this.#at = this.#bytes.writeUInt32BE(value, this.#at);
    return this;
  }

  u48(value: number): this {
    this.#reserve(6);
    this.#at = this.#bytes.writeUIntBE(value, this.#at, 6);
    return this;
  }

  f64(value: number): this {
    this.#reserve(8);
    this.#at = this.#bytes.writeDoubleBE(value, this.#at);
    return this;
  }

  /** A whole number of at least 0, seven bits a byte. */
  varint(value: number): this {
    this.#reserve(8);
    while (value > 127) {
      this.#bytes[this.#at++] = (value % 128) + 128;
      value = Math.floor(value / 128);
    }
    this.#bytes[this.#at++] = value;
    return this;
  }

  /** Any number: whole ones of usual size take few bytes. */
  number(value: number): this {
    if (Number.isInteger(value) && value >= 0 && value < 2 ** 50 && !Object.is(value, -0)) {
      return this.varint(value * 2);
    }
    return this.varint(1).f64(value);
  }

  text(value: string): this {
    const length = Buffer.byteLength(value);
    this.varint(length).#reserve(length);
    this.#at += this.#bytes.write(value, this.#at, length, 'utf8');
    return this;
  }

  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
    return this;
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow((this.#at + length) * 2);
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/** Reads what a {@link ByteWriter} has written. */
export class ByteReader {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  over(bytes: Buffer, at = 0): this {
    this.#bytes = bytes;
    this.#at = at;
    return this;
  }

  get at(): number {
    return this.#at;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  skip(length: number): this {
    this.#at += length;
    return this;
  }

  u8(): number {
    return this.#bytes[this.#at++]!;
  }

  u32(): number {
    this.#at += 4;
    return this.#bytes.readUInt32BE(this.#at - 4);
  }

  u48(): number {
    this.#at += 6;
    return this.#bytes.readUIntBE(this.#at - 6, 6);
  }

  f64(): number {
    this.#at += 8;
    return this.#bytes.readDoubleBE(this.#at - 8);
  }

  varint(): number {
    let value = 0;
    let unit = 1;
    for (;;) {
      const byte = this.u8();
      if (byte < 128) return value + byte * unit;
      value += (byte - 128) * unit;
      unit *= 128;
    }
  }

  number(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : this.f64();
  }

  text(length: number = this.varint()): string {
    this.#at += length;
    return this.#bytes.toString('utf8', this.#at - length, this.#at);
  }

  skipText(): this {
    return this.skip(this.varint());
  }
}

const SIGN = 0x80;

/** Writes a number so that bytes compare as the numbers do: 8 bytes, the sign turned over. */
export function writeOrdered(target: Buffer, at: number, value: number): number {
  target.writeDoubleBE(value + 0, at);
  if (target[at]! & SIGN) for (let i = at; i < at + 8; i++) target[i]! ^= 0xff;
  else target[at]! |= SIGN;
  return at + 8;
}

/** Reads what {@link writeOrdered} has written; the bytes are left as they were. */
export function readOrdered(source: Buffer, at: number): number {
  const negative = (source[at]! & SIGN) === 0;
  const bytes = Buffer.from(source.subarray(at, at + 8));
  if (negative) for (let i = 0; i < 8; i++) bytes[i]! ^= 0xff;
  else bytes[0]! ^= SIGN;
  return bytes.readDoubleBE(0);
}

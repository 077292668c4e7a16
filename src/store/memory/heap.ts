/** What a {@link Heap} needs of its members: their rank, and room to note where they stand. */
export interface HeapNode {
  /** Smallest first. */
  key: number;
  /** Among equal keys, smallest first. */
  order: number;
  /** Where the node stands in its heap; −1 where it is in none. A node is in one heap at a time. */
  slot: number;
}

/** A binary heap whose members know their place, so that one may be moved or taken out in O(log n). */
export class Heap<T extends HeapNode> {
  readonly #nodes: T[] = [];

  get size(): number {
    return this.#nodes.length;
  }

  peek(): T | undefined {
    return this.#nodes[0];
  }

  /** The top of the heap, as it lies: the smallest is among them and first, the others are small, in no strict order. */
  top(most: number): readonly T[] {
    return this.#nodes.slice(0, most);
  }

  /** Puts the node in, or where its changed rank belongs. */
  place(node: T): void {
    if (node.slot < 0) {
      node.slot = this.#nodes.length;
      this.#nodes.push(node);
      this.#up(node);
    } else if (!this.#up(node)) {
      this.#down(node);
    }
  }

  remove(node: T): void {
    if (node.slot < 0) return;
    const last = this.#nodes.pop()!;
    if (last !== node) {
      last.slot = node.slot;
      this.#nodes[last.slot] = last;
      if (!this.#up(last)) this.#down(last);
    }
    node.slot = -1;
  }

  pop(): T | undefined {
    const first = this.#nodes[0];
    if (first !== undefined) this.remove(first);
    return first;
  }

  clear(): void {
    for (const node of this.#nodes) node.slot = -1;
    this.#nodes.length = 0;
  }

  #up(node: T): boolean {
    const nodes = this.#nodes;
    let slot = node.slot;
    while (slot > 0) {
      const parent = nodes[(slot - 1) >> 1]!;
      if (!before(node, parent)) break;
      nodes[slot] = parent;
      const above = parent.slot;
      parent.slot = slot;
      slot = above;
    }
    const moved = slot !== node.slot;
    nodes[slot] = node;
    node.slot = slot;
    return moved;
  }

  #down(node: T): void {
    const nodes = this.#nodes;
    let slot = node.slot;
    for (;;) {
      let below = slot * 2 + 1;
      if (below >= nodes.length) break;
      if (below + 1 < nodes.length && before(nodes[below + 1]!, nodes[below]!)) below++;
      const child = nodes[below]!;
      if (!before(child, node)) break;
      nodes[slot] = child;
      child.slot = slot;
      slot = below;
    }
    nodes[slot] = node;
    node.slot = slot;
  }
}

function before(a: HeapNode, b: HeapNode): boolean {
  return a.key < b.key || (a.key === b.key && a.order < b.order);
}

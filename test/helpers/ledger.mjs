/** Skips of URLs that were queued; all others are of URLs that never were. */
const FINAL_SKIPS = new Set(['robots', 'robots-unreachable', 'not-accepted', 'host-limit', 'host-unreachable']);

/** Keeps book of what becomes of each URL that a crawl queues. */
export class Ledger {
  /** @type {Map<string, { pages: number, errors: number, skips: number, redirects: number }>} */
  accounts = new Map();
  /** Errors that are of no queued URL: those of robots files. */
  otherErrors = 0;

  constructor(crawler) {
    crawler.on('offer', (link) => {
      // Sitemaps that were read are told by what they list.
      if (link.source === 'sitemap' && new URL(link.url).pathname === '/sitemap.xml') return;
      this.accounts.set(link.url, { pages: 0, errors: 0, skips: 0, redirects: 0 });
    });
    crawler.on('page', (page) => void this.#note(page.finalUrl, 'pages'));
    crawler.on('redirect', (from) => void this.#note(from, 'redirects'));
    crawler.on('error', (_error, url) => {
      if (!this.#note(url ?? '', 'errors')) this.otherErrors++;
    });
    crawler.on('skip', (url, reason) => {
      if (FINAL_SKIPS.has(reason)) this.#note(url, 'skips');
    });
  }

  /** URLs that have not come to one end, and one only. */
  get unsettled() {
    const wrong = ({ pages, errors, skips, redirects }) => {
      const ends = pages + errors + skips;
      return ends > 1 || (ends === 0 && redirects === 0);
    };
    return [...this.accounts].filter(([, account]) => wrong(account)).map(([url, a]) => `${url} ${JSON.stringify(a)}`);
  }

  #note(url, what) {
    const account = this.accounts.get(url);
    if (account === undefined) return false;
    account[what]++;
    return true;
  }
}

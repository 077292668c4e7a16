import { createRequire } from 'node:module';
import { withEscapedQuery } from './canonical.ts';
import type { Rule } from './group.ts';
import { type CompiledPattern, compilePattern, matchPattern } from './linear-match.ts';

/**
 * Largest work that robots-parser is given for one question, counted as rules × length of the longest (a question takes
 * it about 1 ns for each). A file of half a megabyte would cost it milliseconds for every link.
 */
const PARSER_BUDGET = 20_000;

/** What it costs besides: robots-parser takes a list of the path's length for every rule. */
const RULE_OVERHEAD = 24;

/**
 * The rules of one group, ready to be asked. The longest pattern that matches decides, Allow before Disallow where two are
 * of one length (RFC 9309, section 2.2.2).
 */
export class RuleSet {
  readonly #parser: PlainRules | undefined;
  readonly #own: readonly OwnRule[];
  readonly #hasSecondForm: boolean;

  constructor(rules: readonly Rule[]) {
    const plain = rules.filter(({ pattern }) => !pattern.includes('*'));
    const others = rules.filter(({ pattern }) => pattern.includes('*'));
    // robots-parser tries, for every character after a `*`, every place it may have got to: rules × pattern × path, and
    // milliseconds for one `/*a*a*a*b`. So patterns with a wildcard, and groups of very many rules, are decided here.
    const isAffordable = plain.length > 0 && cost(plain) <= PARSER_BUDGET;
    this.#parser = isAffordable ? new PlainRules(plain) : undefined;
    this.#own = [
      ...(isAffordable ? others : rules).map((rule) => new OwnRule(rule, rule.pattern, false)),
      ...rules.flatMap(secondForm),
    ].sort((a, b) => order(a.rule, b.rule));
    this.#hasSecondForm = this.#own.some((own) => own.isSecondForm);
  }

  /** The rule that decides about a canonical path; `undefined` where none matches. */
  decide(path: string): Rule | undefined {
    const found = this.#parser?.decide(path);
    const second = this.#hasSecondForm && path.includes('?') ? withEscapedQuery(path) : undefined;
    for (const own of this.#own) {
      if (found !== undefined && order(found, own.rule) <= 0) return found;
      const subject = own.isSecondForm ? second : path;
      if (subject !== undefined && own.matches(subject)) return own.rule;
    }
    return found;
  }
}

/** Sorts what decides first to the front. */
function order(a: Rule, b: Rule): number {
  return b.pattern.length - a.pattern.length || Number(b.allow) - Number(a.allow);
}

function cost(rules: readonly Rule[]): number {
  return rules.length * (longest(rules) + RULE_OVERHEAD);
}

function longest(rules: readonly Rule[]): number {
  return rules.reduce((length, { pattern }) => Math.max(length, pattern.length), 0);
}

/** Rules that name a query, in the form of figure 4 of RFC 9309; see {@link withEscapedQuery}. */
function secondForm(rule: Rule): OwnRule[] {
  const query = rule.pattern.indexOf('?');
  if (query < 0 || !/[:/@]|%3A|%2F|%40/.test(rule.pattern.slice(query))) return [];
  return [new OwnRule(rule, withEscapedQuery(rule.pattern), true)];
}

class OwnRule {
  readonly rule: Rule;
  readonly isSecondForm: boolean;
  readonly #pattern: CompiledPattern;

  constructor(rule: Rule, pattern: string, isSecondForm: boolean) {
    this.rule = rule;
    this.isSecondForm = isSecondForm;
    this.#pattern = compilePattern(pattern);
  }

  matches(path: string): boolean {
    return matchPattern(path, this.#pattern);
  }
}

interface Parser {
  getMatchingLineNumber(url: string, userAgent: string): number;
}

type ParseRobots = (url: string, text: string) => Parser;
let parseRobots: ParseRobots | undefined;

/** Loaded with the first rules there are, since whoever imports the package may never see any. */
function robotsParser(): ParseRobots {
  parseRobots ??= createRequire(import.meta.url)('robots-parser') as ParseRobots;
  return parseRobots;
}

/** robots-parser over one group in canonical form, which is what it reads without fault. */
class PlainRules {
  readonly #parser: Parser;
  readonly #rules: readonly Rule[];
  /** Their patterns, without the `$` that ends some. */
  readonly #beginnings: readonly string[];
  readonly #reach: number;

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
    this.#beginnings = rules.map(({ pattern }) => (pattern.endsWith('$') ? pattern.slice(0, -1) : pattern));
    // One character more than the longest rule shows whether the path ends where a `$` wants it to.
    this.#reach = longest(rules) + 1;
    const lines = rules.map(({ allow, pattern }) => `${allow ? 'Allow' : 'Disallow'}: /?${pattern}`);
    this.#parser = robotsParser()('http://a/robots.txt', ['User-agent: *', ...lines].join('\n'));
  }

  decide(path: string): Rule | undefined {
    const only = this.#only(path);
    if (only !== 'several') return only;
    // All of the path stands in the query of a stand-in URL, on both sides: robots-parser takes URLs apart, and would
    // lose a `?` without a query and fold what looks like `..`; it leaves a query in canonical form as it is.
    const line = this.#parser.getMatchingLineNumber(`http://a/?${path.slice(0, this.#reach)}`, '*');
    return line > 0 ? this.#rules[line - 2] : undefined;
  }

  /** Most paths begin like one rule or none; there is nothing to be weighed then. */
  #only(path: string): Rule | undefined | 'several' {
    let only: Rule | undefined;
    for (let i = 0; i < this.#beginnings.length; i++) {
      const beginning = this.#beginnings[i] as string;
      if (!path.startsWith(beginning)) continue;
      const rule = this.#rules[i] as Rule;
      if (only !== undefined || rule.pattern !== beginning) return 'several';
      only = rule;
    }
    return only;
  }
}

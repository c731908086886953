/** Rehearses the alarms on what docs/operate/runbook.md promises: when Page and Ticket go off, and for how long. */
import { isDeepStrictEqual } from 'node:util';
import { prod, propertiesOf, type Template } from '@lambda-service/testing/stack';
import { check, rehearse, type Span, type Value } from '@lambda-service/testing/trial';
import { expect, test } from 'vitest';

const requests = 'AWS/ApiGateway Count Api';
const errors = 'AWS/ApiGateway 5xx Api';
const latency = 'AWS/ApiGateway Latency Api';

/** The values of a minute. `failing` and `slow` are shares of the requests. */
const traffic = (perMinute: number, { failing = 0, slow = 0 } = {}): Value[] => [
  [requests, 1, perMinute],
  [errors, 1, perMinute * failing],
  [latency, 2_400, perMinute * slow],
  [latency, 1_000, perMinute * (1 - slow)],
];

const [day, hour] = [24 * 60, 60];
const usual = traffic(100, { failing: 0.0005, slow: 0.005 });
const night = traffic(50 / hour);
const byDay = (...spans: Span[]): Span[] => [[day, usual], ...spans, [day, usual]];
const atNight = (...spans: Span[]): Span[] => [[day, night], ...spans, [day, night]];

/** What happens, and when each alarm goes off and when it ends: minutes after the first day, which is always good. */
const rows: [what: string, spans: Span[], notified: string[]][] = [
  ['a good day', byDay(), []],
  ['no traffic', [[3 * day, []]], []],
  ['0.9 % errors all day', byDay([day, traffic(100, { failing: 0.009 })]), ['Ticket 85–1779']],
  ['a p99 of 2.4 s all day', byDay([day, traffic(100, { slow: 0.015 })]), ['Ticket 721–1620']],
  ['1.4 % errors for two hours', byDay([2 * hour, traffic(100, { failing: 0.014 })]), ['Ticket 54–467']],
  ['1.5 % errors for two hours', byDay([2 * hour, traffic(100, { failing: 0.015 })]), ['Page 58–121', 'Ticket 50–468']],
  ['an outage of five minutes', byDay([5, traffic(100, { failing: 1 })]), ['Page 1–10', 'Ticket 1–365']],
  ['all responses slow for 20 minutes', byDay([20, traffic(100, { slow: 1 })]), ['Page 9–25', 'Ticket 8–379']],
  ['one failure at night', atNight([1, [...night, [errors, 1]]]), []],
  ['one slow response at night', atNight([1, [...night, [latency, 2_400]]]), []],
  ['four failures in a row at night', atNight([4, [...night, [errors, 1]]]), []],
  ['the check from outside fails twice', byDay([10, [...usual, [check, 1]]]), []],
  ['the check from outside fails for an hour', byDay([hour, [...usual, [check, 1]]]), ['Page 15–61']],
  ['the check from outside does not run for an hour', byDay([hour, [...usual, [check, 0, 0]]]), ['Page 25–61']],
  [
    'traffic stops after an outage',
    [
      [day, usual],
      [5, traffic(100, { failing: 1 })],
      [day, []],
    ],
    ['Page 1–20', 'Ticket 1–1085'],
  ],
  ['an outage at night', atNight([hour, traffic(50 / hour, { failing: 1 })]), ['Page 5–65', 'Ticket 5–420']],
];

/** Lists the times in which an alarm is on. Each time, it notifies people once. */
const timesOf = (name: string, states: boolean[] = []): string[] =>
  states.flatMap((isOn, start) => {
    if (!isOn || states[start - 1]) return [];
    return [`${name} ${start + 1 - day}–${states.indexOf(false, start) + 1 - day}`];
  });

const notified = (template: Template, spans: Span[]): string[] => {
  const states = rehearse(template, spans);
  return ['Page', 'Ticket'].flatMap((name) => timesOf(name, states[name]));
};

test.each(rows)('%s: Page and Ticket notify as listed', (_, spans, expected) => {
  expect(notified(prod, spans)).toEqual(expected);
});

const windows = Object.keys(propertiesOf('AWS::CloudWatch::Alarm')).filter((id) => /\d[mhd]$/.test(id));

test.each(windows)('a row would fail if %s were always on', (id) => {
  const broken = structuredClone(prod);
  Object.assign(broken.Resources[id]?.Properties ?? {}, { Threshold: -1 });
  expect(rows.every(([, spans, expected]) => isDeepStrictEqual(notified(broken, spans), expected))).toBe(false);
});

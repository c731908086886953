/** Computes the metric values that the metric filters of a CloudFormation template derive from log lines. */
import { type FilterPattern, parseFilterPattern, valueAt } from './filter-pattern.ts';
import { propertiesOf, type Template } from './template.ts';

/** A value of a metric. The metric's name includes its namespace and dimensions, as `metricName` writes them. */
export type Value = [metric: string, value: number];

export const metricName = (namespace: string, name: string, dimensions: Record<string, string> = {}): string => {
  const pairs = Object.entries(dimensions).sort();
  return [`${namespace} ${name}`, ...pairs.map(([key, value]) => `${key}=${value}`)].join(', ');
};

/**
 * A metric filter: the function whose log it reads, its pattern, its metric, and the values that a log line adds to it.
 */
export type MetricFilter = {
  functionName: string;
  pattern: string;
  metric: string;
  matches: FilterPattern;
  values: (line: unknown) => Value[];
};

type Transformation = {
  MetricNamespace: string;
  MetricName: string;
  MetricValue: string;
  DefaultValue?: number;
  Dimensions?: { Key: string; Value: string }[];
};

/** Returns the metric filters of the functions' logs. @throws Error if a filter has a form that is not supported */
export const metricFilters = (template: Template): MetricFilter[] => {
  const functions = Object.entries(propertiesOf('AWS::Lambda::Function', template));
  const byLog = new Map(
    functions.map(([name, { LoggingConfig }]) => [JSON.stringify(Object(LoggingConfig).LogGroup), name]),
  );
  return Object.values(propertiesOf('AWS::Logs::MetricFilter', template)).map((properties) => {
    const { LogGroupName, FilterPattern, MetricTransformations, ...others } = properties;
    const functionName = byLog.get(JSON.stringify(LogGroupName));
    const [transformation, ...more] = MetricTransformations as Transformation[];
    if (functionName === undefined || transformation === undefined || more.length + Object.keys(others).length > 0)
      throw new Error(`The metric filter ${JSON.stringify(properties)} cannot be evaluated here.`);
    const pattern = String(FilterPattern);
    const metric = metricName(transformation.MetricNamespace, transformation.MetricName);
    const matches = parseFilterPattern(pattern);
    return { functionName, pattern, metric, matches, values: (line) => valuesOf(transformation, line, matches(line)) };
  });
};

const valuesOf = (transformation: Transformation, line: unknown, isMatch: boolean): Value[] => {
  const { MetricNamespace, MetricName, MetricValue, DefaultValue, Dimensions = [] } = transformation;
  if (!isMatch) return DefaultValue === undefined ? [] : [[metricName(MetricNamespace, MetricName), DefaultValue]];
  const dimensions = Dimensions.map(({ Key, Value: selector }) => [Key, String(valueAt(selector, line))]);
  const value = MetricValue.startsWith('$.') ? valueAt(MetricValue, line) : Number(MetricValue);
  const metric = metricName(MetricNamespace, MetricName, Object.fromEntries(dimensions));
  return typeof value === 'number' ? [[metric, value]] : [];
};

/** Returns a function that lists the metric values that CloudWatch would derive from a log line. */
export const logMetrics = (template: Template): ((functionName: string, line: object) => Value[]) => {
  const filters = metricFilters(template);
  return (functionName, line) =>
    filters.filter((filter) => filter.functionName === functionName).flatMap(({ values }) => values(line));
};

// The types that Grafana publishes, with those of the panels and queries that this dashboard has.
import type { AnnotationQuery, Dashboard, DataQuery, Panel, RowPanel } from '@grafana/schema';
import type { FieldConfig as StateFields, Options as StateOptions } from '@grafana/schema/dist/esm/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen';
import type { FieldConfig as TimeFields, Options as TimeOptions } from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

// JSON has the values of enumerations.
type Plain<T> = T extends string ? `${T}` : T extends (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
type Kind<Name, Options, Fields> = Omit<Panel<Options, Fields>, 'type' | 'targets' | 'options'> & { type: Name; options: Options; targets: Query[] };
// Of queries of Prometheus, whose types are not published any more.
type Query = DataQuery & { expr: string; legendFormat?: string; interval?: string };
type Annotation = AnnotationQuery<Query> & { titleFormat: string };
type Threadwise = Omit<Dashboard, 'panels' | 'annotations'> & {
  annotations: { list: Annotation[] };
  panels: (Kind<'timeseries', TimeOptions, TimeFields> | Kind<'state-timeline', StateOptions, StateFields> | RowPanel)[];
};

// The OpenTelemetry Collector with its OTLP receiver, and an exporter that writes what the receiver has understood to
// a file: a line of OTLP's JSON for each export. Usage: collector ADDRESS FILE
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry"
)

var lines *os.File

func write(text []byte, err error) error {
	if err == nil {
		_, err = lines.Write(append(text, '\n'))
	}
	return err
}

func fileExporter() exporter.Factory {
	return exporter.NewFactory(
		component.MustNewType("lines"),
		func() component.Config { return &struct{}{} },
		exporter.WithTraces(func(ctx context.Context, set exporter.Settings, config component.Config) (exporter.Traces, error) {
			return exporterhelper.NewTraces(ctx, set, config, func(_ context.Context, data ptrace.Traces) error {
				return write((&ptrace.JSONMarshaler{}).MarshalTraces(data))
			})
		}, component.StabilityLevelStable),
		exporter.WithMetrics(func(ctx context.Context, set exporter.Settings, config component.Config) (exporter.Metrics, error) {
			return exporterhelper.NewMetrics(ctx, set, config, func(_ context.Context, data pmetric.Metrics) error {
				return write((&pmetric.JSONMarshaler{}).MarshalMetrics(data))
			})
		}, component.StabilityLevelStable),
		exporter.WithLogs(func(ctx context.Context, set exporter.Settings, config component.Config) (exporter.Logs, error) {
			return exporterhelper.NewLogs(ctx, set, config, func(_ context.Context, data plog.Logs) error {
				return write((&plog.JSONMarshaler{}).MarshalLogs(data))
			})
		}, component.StabilityLevelStable),
	)
}

func factories() (otelcol.Factories, error) {
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](fileExporter())
	// Its own telemetry is none of the test's.
	own := telemetry.NewFactory(func() component.Config { return &struct{}{} })
	return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: own}, err
}

const configuration = `yaml:
receivers: {otlp: {protocols: {http: {endpoint: "%s"}}}}
exporters: {lines: {}}
service:
  pipelines:
    traces: {receivers: [otlp], exporters: [lines]}
    metrics: {receivers: [otlp], exporters: [lines]}
    logs: {receivers: [otlp], exporters: [lines]}
`

func main() {
	var err error
	if lines, err = os.OpenFile(os.Args[2], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		log.Fatal(err)
	}
	collector, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.NewDefaultBuildInfo(),
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{fmt.Sprintf(configuration, os.Args[1])},
			ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := collector.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// Loaded before the service: NODE_OPTIONS='--import ./tracing.mjs' npx postern serve
import { isMainThread } from 'node:worker_threads'
import * as api from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { traceWith } from 'postern/opentelemetry'

// Node.js also loads this module in the threads of the service, which make no spans.
if (isMainThread) {
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': process.env.OTEL_SERVICE_NAME ?? 'postern' }),
    // Reads OTEL_EXPORTER_OTLP_ENDPOINT, http://localhost:4318 by default.
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  })
  // Also activates contexts, so that your own spans in handlers are children.
  provider.register()
  // When the service stops, it waits for the spans that are still in memory.
  traceWith(api, () => provider.shutdown())
}

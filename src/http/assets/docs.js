// The reference reads our document and nothing else: what belongs to its maker's other products, and would send the
// document or the reader there, is off.
Scalar.createApiReference('#reference', {
  url: '/openapi.json',
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  telemetry: false,
  withDefaultFonts: false,
  persistAuth: false,
  // Without a proxy requests go straight to this service, which is the only place that the page's policy allows.
  proxyUrl: '',
  theme: 'default',
})

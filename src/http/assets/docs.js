Scalar.createApiReference('#reference', { url: '/openapi.json', withDefaultFonts: false, telemetry: false })

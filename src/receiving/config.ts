/** The `receiving` part of the configuration module. */
export interface ReceivingConfig {
  sources?: Record<string, unknown>
  handlers?: Record<string, unknown>
}

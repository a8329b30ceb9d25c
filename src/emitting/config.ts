/** The `emitting` part of the configuration module. */
export interface EmittingConfig {}

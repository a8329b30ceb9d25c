/**
 * The frames of the functions that call the handlers (receiving/worker/attempt.ts), and all frames below it. `inspect` leaves out
 * frames that the cause of the error has, too. A frame is indented by spaces: `\s` would also match line feeds, and take quadratic
 * time for a message with many empty lines.
 */
const below =
  /\n +(?:at (?:async )?(?:callHandler|runHandlers) \(|\.\.\. \d+ lines matching cause)(?:.*\n +at )*.*/g

/**
 * Removes the frames below a handler from the stack of its error: they are of this service, and the same for all handlers. The
 * frames of the handler, and of the libraries that it calls, stay.
 * @param text a stack, or the text of an error with the stacks of its causes, as `inspect` writes it
 */
export function endStackAtHandler(text: string): string {
  // `inspect` writes the properties of an error behind its last frame.
  return text.replace(below, (frames) => (frames.endsWith(' {') ? ' {' : ''))
}

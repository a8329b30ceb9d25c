/** A number in [0, 1) that looks random and is the same at each start. */
export function noise(seed: number): number {
  const value = Math.sin(seed * 12.9898) * 43_758.5453
  return value - Math.floor(value)
}

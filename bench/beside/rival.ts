/** A product that runs beside Postern, on the same rows. */
export interface Rival extends AsyncDisposable {
  /** With its version and the Node.js that it runs on. */
  readonly name: string
  readonly port: number
  /** The same page as Postern is asked for. */
  readonly path: string
  readonly headers: Record<string, string>
  /** How it is set up, where that bears on its speed. */
  readonly settings: string
}

/** The columns that each of them shows. */
export interface Product {
  category: string
  price: number
  stock: number
  name: string
}

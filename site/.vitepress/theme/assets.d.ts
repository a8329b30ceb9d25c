declare module '*.css'
declare module '*.svg?url' {
  const address: string
  export default address
}

/** The pages on which an owner manages their subscribers. */
export function Portal() {
  return <main className="p-6">Not built yet.</main>
}

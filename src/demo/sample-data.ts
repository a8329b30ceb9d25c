import { timeOf } from '../paging/time.ts'
import type { Database } from '../storage/database.ts'
import type { Row } from '../storage/tables.ts'

const day = 86_400_000

/** name, price, stock */
type Sample = readonly [string, number, number]

const catalogue: Readonly<Record<string, readonly Sample[]>> = {
  kitchen: [
    ['Cast-iron pan, 26 cm', 39.9, 14],
    ['Chef’s knife, 20 cm', 74.5, 6],
    ['Cutting board, beech', 24, 31],
    ['Espresso cups, set of four', 28.8, 0],
    ['Hand grinder, steel burrs', 119, 3],
    ['Linen tea towel', 9.5, 120],
    ['Pepper mill, walnut', 39.9, 9],
  ],
  garden: [
    ['Bulb planter', 17.9, 22],
    ['Folding pruning saw', 36, 0],
    ['Galvanised watering can, 9 l', 42.5, 11],
    ['Hori hori knife', 33, 5],
    ['Jute twine, 100 m', 6.2, 210],
    ['Seed trays, six', 14.9, 48],
  ],
  office: [
    ['A5 notebook, dotted', 12.5, 340],
    ['Brass pencil sharpener', 8.9, 77],
    ['Desk lamp, dimmable', 89, 12],
    ['Fountain pen, fine nib', 64, 0],
    ['Letter tray, steel', 21.9, 40],
    ['Mechanical keyboard, German layout', 129, 4],
    ['Monitor arm', 98, 8],
  ],
  outdoor: [
    ['Camping stove, 3 kW', 54.9, 19],
    ['Dry bag, 20 l', 24, 66],
    ['Enamel mug', 9.5, 150],
    ['Head torch, 400 lm', 39.9, 27],
    ['Merino socks', 19.9, 95],
    ['Sleeping mat, inflatable', 109, 0],
    ['Water filter', 44, 16],
  ],
  books: [
    ['A Field Guide to Tidal Rivers', 29.9, 7],
    ['Baking With Old Grains', 34, 18],
    ['Cordial Letters', 16, 0],
    ['The Locksmith’s Almanac', 22.5, 11],
    ['Walls, Gates and Doors', 48, 2],
  ],
}

const articles: readonly (readonly [string, string])[] = [
  ['We are open', 'The shop is online. Tell us what does not work.'],
  ['How we choose suppliers', 'We visit everyone we buy from, at least once. Here is what we look at.'],
  ['Spring in the garden', 'What to sow in March, and what to leave in the bag until April.'],
  ['Shipping to the islands', 'Parcels to islands take two days longer from now on, and cost the same.'],
  ['Care of cast iron', 'No soap is a myth. Too much water is not.'],
  ['New in the office corner', 'Keyboards with a German layout have arrived, and they are loud.'],
  ['Invoices as PDF', 'Your orders page now has a PDF of every invoice since the beginning.'],
  ['Summer hours', 'In August the workshop is closed on Fridays. Parcels leave as always.'],
  ['A word on reviews', 'We publish all of them, and answer the ones that sting.'],
  ['Repair instead of return', 'Send it in. If we can mend it, we will, and it costs you the postage.'],
  ['The grinder is back', 'After five months, sixty grinders. Please be quick and be kind.'],
  [
    'What we learned from the outage',
    'The shop was away for 42 minutes on Tuesday. This is why, and what we changed.',
  ],
  ['Webhooks for shop partners', 'Partners can now receive orders and stock by webhook, signed and retried.'],
  ['Autumn reading', 'Five books for evenings that come early.'],
  ['Gift wrapping', 'Recycled paper, linen string, two euros. Say so at the checkout.'],
  ['Holiday deadlines', 'Order by the 18th and it will be under the tree, islands included.'],
  ['Counting the stock', 'We count everything by hand once a year. This time we were off by eleven pencils.'],
  ['Sign in with what you have', 'No new password for our shop: sign in with the account you use every day.'],
  [
    'Size of the sleeping mat',
    'The label said 196 cm. It is 186. If that is too short for you, send it back.',
  ],
  ['Fewer boxes', 'Small orders now travel in envelopes. It saves a lorry a month.'],
  ['Your questions about knives', 'Which steel, which angle, which stone: the answers to what you ask most.'],
  ['Slow days, fast shop', 'Pages of the shop now load in half the time. You should notice on the train.'],
  ['Thank you', 'One year, and you are still here. So are we.'],
  ['Looking ahead', 'What we plan for the coming year, in no order and without promises.'],
]

/** Fills empty tables of products and posts. Returns false, without an effect, if one of them has a row. */
export async function insertSampleData(database: Database, now: number): Promise<boolean> {
  const { products, posts } = sampleData(now)
  return database.transaction(async (tx) => {
    for (const table of ['products', 'posts'] as const)
      if (await tx.selectFrom(table).select('id').limit(1).executeTakeFirst()) return false
    // Another process may start at the same time and insert the same rows.
    await tx
      .insertInto('products')
      .values(products)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    await tx
      .insertInto('posts')
      .values(posts)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    return true
  })
}

function sampleData(now: number): { products: Row<'products'>[]; posts: Row<'posts'>[] } {
  // Whole days, so that two starts on one day create the same data.
  const today = Math.floor(now / day) * day
  const products = Object.entries(catalogue).flatMap(([category, samples], shelf) =>
    samples.map(([name, price, stock], place): Row<'products'> => {
      const id = `${category}-${String(place + 1).padStart(2, '0')}`
      // Times are spread over two months, not in the order of names, and some are equal.
      const age = (((place * 5) % 7) * 9 + (shelf % 2) * 3 + 1) * day - (place % 3) * 3_600_000
      return { id, category, price, stock, name, created_at: timeOf(today - age) }
    }),
  )
  const posts = articles.map(([title, body], index): Row<'posts'> => {
    const created_at = timeOf(today - (articles.length - index) * 15 * day + 9 * 3_600_000)
    return { id: `post-${String(index + 1).padStart(2, '0')}`, title, body, created_at }
  })
  return { products, posts }
}

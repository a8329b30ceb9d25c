import type { Migration } from '../migrate.ts'

/**
 * What the provider said about a sign-in: whether its time was proven by the id_token (`auth_time`), and how the person
 * was authenticated (`acr`, `amr`). When a flow asked for a new authentication. Which issuer an identity is bound to;
 * null until its next sign-in.
 */
export const signInProof: Migration = {
  number: 18,
  name: 'sign-in-proof',
  breaking: false,
  sqlite: `
    alter table identities add column issuer text;
    alter table sessions add column authentication_proof text;
    alter table sessions add column acr text;
    alter table sessions add column amr text;
    alter table authorization_codes add column acr text;
    alter table authorization_codes add column amr text;
    alter table token_families add column acr text;
    alter table token_families add column amr text;
    alter table flows add column reauthentication_asked_at integer;
  `,
  postgres: `
    alter table identities add column issuer text collate "C";
    alter table sessions
      add column authentication_proof text collate "C", add column acr text collate "C", add column amr text collate "C";
    alter table authorization_codes add column acr text collate "C", add column amr text collate "C";
    alter table token_families add column acr text collate "C", add column amr text collate "C";
    alter table flows add column reauthentication_asked_at bigint;
  `,
}

// go-oidc with golang.org/x/oauth2 as a confidential client: prints the authorization URL, reads the callback, prints what it
// learned.
//
//	client ISSUER CLIENT_ID CLIENT_SECRET REDIRECT_URI
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx := context.Background()
	provider, err := oidc.NewProvider(ctx, os.Args[1])
	check(err)
	config := oauth2.Config{
		ClientID:     os.Args[2],
		ClientSecret: os.Args[3],
		Endpoint:     provider.Endpoint(),
		RedirectURL:  os.Args[4],
		Scopes:       []string{oidc.ScopeOpenID, "email", "profile"},
	}
	verifier, state, nonce := oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	fmt.Println(config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oidc.Nonce(nonce)))
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	check(err)
	callback, err := url.Parse(strings.TrimSpace(line))
	check(err)
	if callback.Query().Get("state") != state {
		log.Fatal("state")
	}
	token, err := config.Exchange(ctx, callback.Query().Get("code"), oauth2.VerifierOption(verifier))
	check(err)
	raw, _ := token.Extra("id_token").(string)
	idToken, err := provider.Verifier(&oidc.Config{ClientID: os.Args[2]}).Verify(ctx, raw)
	check(err)
	check(idToken.VerifyAccessToken(token.AccessToken))
	if idToken.Nonce != nonce {
		log.Fatal("nonce")
	}
	renewed, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	check(err)
	info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(renewed))
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"sub":      idToken.Subject,
		"email":    info.Email,
		"sameUser": info.Subject == idToken.Subject,
		"renewed":  renewed.AccessToken != token.AccessToken,
	}))
}

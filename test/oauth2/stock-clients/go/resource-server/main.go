// An API that knows nothing but the JWKS: for each line `ISSUER AUDIENCE TOKEN` it prints `accepted SUB` or `refused REASON`.
//
//	resource-server golang-jwt|go-oidc JWKS_URI
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/golang-jwt/jwt/v5"
)

type verify func(issuer, audience, token string) (string, error)

var errType = errors.New("typ")

func withGolangJwt(jwksURI string) (verify, error) {
	keys, err := keyfunc.NewDefault([]string{jwksURI})
	return func(issuer, audience, token string) (string, error) {
		parsed, err := jwt.Parse(token, keys.Keyfunc, jwt.WithValidMethods([]string{"ES256"}),
			jwt.WithIssuer(issuer), jwt.WithAudience(audience), jwt.WithExpirationRequired())
		if err != nil {
			return "", err
		}
		if parsed.Header["typ"] != "at+jwt" {
			return "", errType
		}
		return parsed.Claims.GetSubject()
	}, err
}

func withGoOidc(jwksURI string) (verify, error) {
	ctx := context.Background()
	keys := oidc.NewRemoteKeySet(ctx, jwksURI)
	return func(issuer, audience, token string) (string, error) {
		config := &oidc.Config{ClientID: audience, SupportedSigningAlgs: []string{oidc.ES256}}
		verified, err := oidc.NewVerifier(issuer, keys, config).Verify(ctx, token)
		if err != nil {
			return "", err
		}
		// It does not look at the type.
		var header struct{ Typ string }
		text, _ := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[0])
		if json.Unmarshal(text, &header) != nil || header.Typ != "at+jwt" {
			return "", errType
		}
		return verified.Subject, nil
	}, nil
}

func main() {
	create := map[string]func(string) (verify, error){"golang-jwt": withGolangJwt, "go-oidc": withGoOidc}
	check, err := create[os.Args[1]](os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		subject, err := check(fields[0], fields[1], fields[2])
		if err != nil {
			fmt.Println("refused", strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("accepted", subject)
		}
	}
}

// Calls every operation with the library in Go, whose versions 1.x have the former names of fields.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"reflect"
	"time"

	svix "github.com/svix/svix-webhooks/go"
	"github.com/svix/svix-webhooks/go/models"
	"github.com/svix/svix-webhooks/go/utils"
)

var (
	ctx        = context.Background()
	receiver   = os.Getenv("SVIX_RECEIVER")
	secret     = os.Getenv("SVIX_SECRET")
	openSource = os.Getenv("SVIX_OPEN_SOURCE") != ""
	uid        = fmt.Sprintf("go-%d", os.Getpid())
	hourAgo    = time.Now().Add(-time.Hour)
	api        = connect(os.Getenv("SVIX_TOKEN"))
)

func connect(token string) *svix.Svix {
	address, err := url.Parse(os.Getenv("SVIX_URL"))
	check(err)
	client, err := svix.New(token, &svix.SvixOptions{ServerUrl: address})
	check(err)
	return client
}

func check(err error) {
	if err == nil {
		return
	}
	var answered *svix.Error
	if errors.As(err, &answered) {
		log.Panicf("%d %s", answered.Status(), answered.Body())
	}
	log.Panic(err)
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func fails(status int, err error) {
	var answered *svix.Error
	if !errors.As(err, &answered) || answered.Status() != status {
		log.Panicf("not %d: %v", status, err)
	}
}

func failsWith[T any](status int) func(T, error) {
	return func(_ T, err error) { fails(status, err) }
}

func equal(one, other any) {
	if !reflect.DeepEqual(one, other) {
		log.Panicf("%v is not %v", one, other)
	}
}

func until[T any](read func() T, isDone func(T) bool) T {
	for range 600 {
		if answer := read(); isDone(answer) {
			return answer
		}
		time.Sleep(50 * time.Millisecond)
	}
	log.Panic("not within 30 seconds")
	panic(nil)
}

func p[T any](value T) *T { return &value }

func applications() *models.ApplicationOut {
	check(api.Health.Get(ctx))
	given := models.ApplicationIn{Name: "Application", Uid: &uid, Metadata: &map[string]string{"plan": "pro"}}
	options := &svix.ApplicationCreateOptions{IdempotencyKey: p(uid + "-app")}
	app := must(api.Application.Create(ctx, given, options))
	equal(must(api.Application.Create(ctx, given, options)).Id, app.Id)
	equal(must(api.Application.GetOrCreate(ctx, given, nil)).Id, app.Id)
	failsWith[*models.ApplicationOut](409)(api.Application.Create(ctx, given, nil))
	failsWith[*models.ApplicationOut](422)(api.Application.Create(ctx, models.ApplicationIn{Name: ""}, nil))
	failsWith[*models.ApplicationOut](404)(api.Application.Get(ctx, "missing"))
	failsWith[*models.ListResponseApplicationOut](401)(connect("wrong").Application.List(ctx, nil))
	equal(must(api.Application.Get(ctx, uid)).Metadata["plan"], "pro")
	equal(must(api.Application.Update(ctx, uid, models.ApplicationIn{Name: "Changed", Uid: &uid})).Name, "Changed")
	patched := must(api.Application.Patch(ctx, uid, models.ApplicationPatch{ThrottleRate: utils.NewNullable(uint16(9))}))
	equal(*patched.RateLimit, uint16(9))
	other := must(api.Application.Update(ctx, uid+"-2", models.ApplicationIn{Name: "Other", Uid: p(uid + "-2")}))
	page := must(api.Application.List(ctx, &svix.ApplicationListOptions{Limit: p(uint64(1)), Order: p(models.ORDERING_DESCENDING)}))
	equal(page.Data[0].Id, other.Id)
	page = must(api.Application.List(ctx, &svix.ApplicationListOptions{Limit: p(uint64(1)), Iterator: page.Iterator, Order: p(models.ORDERING_DESCENDING)}))
	equal(page.Data[0].Id, app.Id)
	check(api.Application.Delete(ctx, other.Id))
	return app
}

func eventTypes() string {
	name, old := uid+".created", uid+".old"
	schemas := map[string]any{"1": map[string]any{"type": "object"}}
	created := must(api.EventType.Create(ctx, models.EventTypeIn{Name: name, Description: "Created", Schemas: &schemas}, nil))
	equal(*created.Schemas, schemas)
	failsWith[*models.EventTypeOut](409)(api.EventType.Create(ctx, models.EventTypeIn{Name: name, Description: "Twice"}, nil))
	equal(must(api.EventType.Get(ctx, name)).Description, "Created")
	equal(must(api.EventType.Update(ctx, name, models.EventTypeUpdate{Description: "Changed"})).Description, "Changed")
	equal(must(api.EventType.Patch(ctx, name, models.EventTypePatch{Deprecated: p(true)})).Deprecated, true)
	must(api.EventType.List(ctx, &svix.EventTypeListOptions{WithContent: p(true)}))
	must(api.EventType.Create(ctx, models.EventTypeIn{Name: old, Description: "Old"}, nil))
	check(api.EventType.Delete(ctx, old, &svix.EventTypeDeleteOptions{Expunge: p(true)}))
	failsWith[*models.EventTypeOut](404)(api.EventType.Get(ctx, old))
	return name
}

func endpoints(app, name string) *models.EndpointOut {
	address := receiver + "/go"
	given := models.EndpointIn{Url: address, Secret: &secret, Uid: p("main"), Channels: []string{"room"}, FilterTypes: []string{name}, RateLimit: p(uint16(500))}
	endpoint := must(api.Endpoint.Create(ctx, app, given, nil))
	equal(endpoint.FilterTypes, []string{name})
	equal(endpoint.Version, int32(1))
	equal(*endpoint.RateLimit, uint16(500))
	failsWith[*models.EndpointOut](409)(api.Endpoint.Create(ctx, app, given, nil))
	failsWith[*models.EndpointOut](422)(api.Endpoint.Create(ctx, app, models.EndpointIn{Url: "nonsense"}, nil))
	equal(must(api.Endpoint.Get(ctx, uid, "main")).Id, endpoint.Id)
	update := models.EndpointUpdate{Url: address, Uid: p("main"), Description: p("Put"), FilterTypes: []string{name}}
	equal(must(api.Endpoint.Update(ctx, app, endpoint.Id, update)).Description, "Put")
	patch := models.EndpointPatch{Description: p("Patched"), Channels: utils.NewNullableFromPtr[[]string](nil)}
	equal(must(api.Endpoint.Patch(ctx, app, endpoint.Id, patch)).Description, "Patched")
	equal(len(must(api.Endpoint.List(ctx, app, nil)).Data), 1)
	equal(must(api.Endpoint.GetSecret(ctx, app, endpoint.Id)).Key, secret)
	spare := must(api.Endpoint.Create(ctx, app, models.EndpointIn{Url: receiver + "/spare", Disabled: p(true)}, nil))
	check(api.Endpoint.RotateSecret(ctx, app, spare.Id, models.EndpointSecretRotateIn{Key: &secret}, nil))
	equal(must(api.Endpoint.GetSecret(ctx, app, spare.Id)).Key, secret)
	check(api.Endpoint.UpdateHeaders(ctx, app, endpoint.Id, models.EndpointHeadersIn{Headers: map[string]string{"x-team": "blue", "authorization": "Bearer t"}}))
	check(api.Endpoint.PatchHeaders(ctx, app, endpoint.Id, models.EndpointHeadersPatchIn{Headers: map[string]string{"x-team": "red"}}))
	headers := must(api.Endpoint.GetHeaders(ctx, app, endpoint.Id))
	equal(headers.Headers, map[string]string{"x-team": "red"})
	equal(headers.Sensitive, []string{"authorization"})
	check(api.Endpoint.Delete(ctx, app, spare.Id))
	fails(404, api.Endpoint.Delete(ctx, app, spare.Id))
	return endpoint
}

func messages(app, name string) *models.MessageOut {
	message := models.MessageIn{EventType: name, Payload: map[string]any{"n": 1.0}, EventId: p(uid + "-1")}
	first := must(api.Message.Create(ctx, app, message, nil))
	failsWith[*models.MessageOut](409)(api.Message.Create(ctx, app, message, nil))
	options := &svix.MessageCreateOptions{IdempotencyKey: p(uid + "-2")}
	message.EventId = nil
	second := must(api.Message.Create(ctx, app, message, options))
	equal(must(api.Message.Create(ctx, app, message, options)).Id, second.Id)
	equal(must(api.Message.Get(ctx, app, uid+"-1", &svix.MessageGetOptions{WithContent: p(true)})).Payload, message.Payload)
	found := must(api.Message.List(ctx, app, &svix.MessageListOptions{EventTypes: &[]string{name}, After: &hourAgo}))
	equal([]string{found.Data[0].Id, found.Data[1].Id}, []string{second.Id, first.Id})
	return first
}

func attempts(app, endpoint, message string) string {
	options := &svix.MessageAttemptListByMsgOptions{EndpointId: &endpoint, WithContent: p(true)}
	read := func() *models.ListResponseMessageAttemptOut {
		return must(api.MessageAttempt.ListByMsg(ctx, app, message, options))
	}
	attempt := until(read, func(page *models.ListResponseMessageAttemptOut) bool {
		return len(page.Data) > 0 && page.Data[0].Status == models.MESSAGESTATUS_SUCCESS
	}).Data[0]
	equal(attempt.ResponseStatusCode, int16(200))
	equal(attempt.Response, `{"ok":true}`)
	until(func() int { return len(must(api.MessageAttempt.ListByEndpoint(ctx, app, endpoint, nil)).Data) }, func(n int) bool { return n == 2 })
	equal(must(api.MessageAttempt.Get(ctx, app, message, attempt.Id, nil)).MsgId, message)
	equal(len(must(api.MessageAttempt.ListAttemptedMessages(ctx, app, endpoint, nil)).Data), 2)
	equal(must(api.MessageAttempt.ListAttemptedDestinations(ctx, app, message, nil)).Data[0].Id, endpoint)
	must(api.MessageAttempt.Resend(ctx, app, message, endpoint, nil))
	until(read, func(page *models.ListResponseMessageAttemptOut) bool { return len(page.Data) == 2 })
	equal(must(api.Endpoint.GetStats(ctx, app, endpoint, nil)).Fail, int64(0))
	task := must(api.Endpoint.Recover(ctx, app, endpoint, models.RecoverIn{Since: hourAgo}, nil))
	must(api.Endpoint.SendExample(ctx, app, endpoint, models.EventExampleIn{EventType: "svix.ping"}, nil))
	check(api.MessageAttempt.ExpungeContent(ctx, app, message, attempt.Id))
	check(api.Message.ExpungeContent(ctx, app, message))
	return task.Id
}

func portal(app string) {
	access := must(api.Authentication.AppPortalAccess(ctx, app, models.AppPortalAccessIn{FeatureFlags: []string{"beta"}}, nil))
	own := connect(access.Token)
	equal(len(must(own.Endpoint.List(ctx, app, nil)).Data), 1)
	failsWith[*models.ListResponseApplicationOut](403)(own.Application.List(ctx, nil))
	if !openSource {
		check(own.Authentication.Logout(ctx, nil))
		failsWith[*models.ListResponseEndpointOut](401)(own.Endpoint.List(ctx, app, nil))
	}
}

// What the open-source server has no route for.
func beyond(app, endpoint, task, name string) {
	done := until(func() *models.BackgroundTaskOut { return must(api.BackgroundTask.Get(ctx, task)) }, func(one *models.BackgroundTaskOut) bool {
		return one.Status != models.BACKGROUNDTASKSTATUS_RUNNING
	})
	equal(done.Status, models.BACKGROUNDTASKSTATUS_FINISHED)
	must(api.BackgroundTask.List(ctx, nil))
	must(api.Endpoint.ReplayMissing(ctx, app, endpoint, models.ReplayIn{Since: hourAgo}, nil))
	must(api.Endpoint.BulkReplay(ctx, app, endpoint, models.BulkReplayIn{Since: hourAgo, EventTypes: []string{name}}, nil))
	equal(must(api.Message.Precheck(ctx, app, models.MessagePrecheckIn{EventType: name}, nil)).Active, true)
	must(api.Statistics.AggregateAppStats(ctx, models.AppUsageStatsIn{Since: hourAgo, Until: time.Now()}, nil))
	must(api.Statistics.AggregateEventTypes(ctx))
	must(api.Environment.Export(ctx, nil))
	types := []models.EventTypeIn{{Name: uid + ".imported", Description: "Imported"}}
	check(api.Environment.Import(ctx, models.EnvironmentIn{EventTypes: types}, nil))
	schema := map[string]any{"content": map[string]any{"application/json": map[string]any{"schema": map[string]any{"type": "object"}}}}
	webhooks := map[string]any{uid + ".webhook": map[string]any{"post": map[string]any{"description": "By OpenAPI", "requestBody": schema}}}
	spec := map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": "x", "version": "1"}, "webhooks": webhooks}
	imported := must(api.EventType.ImportOpenapi(ctx, models.EventTypeImportOpenApiIn{Spec: &spec}, nil))
	equal(imported.Data.Modified, []string{uid + ".webhook"})
	code := utils.NewNullable("function handler(webhook) { return webhook }")
	check(api.Endpoint.PatchTransformation(ctx, app, endpoint, models.EndpointTransformationPatch{Code: code, Enabled: p(true)}))
	equal(*must(api.Endpoint.TransformationGet(ctx, app, endpoint)).Enabled, true)
	check(api.Authentication.ExpireAll(ctx, app, models.ApplicationTokenExpireIn{}, nil))
	failsWith[*models.ListResponseIntegrationOut](404)(api.Integration.List(ctx, app, nil))
}

func main() {
	app := applications().Id
	name := eventTypes()
	endpoint := endpoints(app, name).Id
	message := messages(app, name).Id
	task := attempts(app, endpoint, message)
	portal(app)
	if !openSource {
		beyond(app, endpoint, task, name)
	}
	check(api.Application.Delete(ctx, app))
	failsWith[*models.ListResponseEndpointOut](404)(api.Endpoint.List(ctx, app, nil))
}

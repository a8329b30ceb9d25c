// Calls every operation with the library in Rust.
use std::{collections::BTreeMap, env, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use svix::api::*;
use svix::error::{Error, Result};
use svix::models::*;

fn given(name: &str) -> String {
    env::var(name).expect(name)
}

fn connect(token: String) -> Svix {
    let options = SvixOptions { server_url: Some(given("SVIX_URL")), ..Default::default() };
    Svix::new(token, Some(options))
}

fn map<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

#[track_caller]
fn fails<T>(status: u16, result: Result<T>) {
    let found = match result.err().expect("an error") {
        Error::Http(content) => content.status.as_u16(),
        Error::Validation(content) => {
            assert_eq!(content.payload.expect("what is wrong").detail[0].loc[0], "body");
            content.status.as_u16()
        }
        other => panic!("{other}"),
    };
    assert_eq!(found, status);
}

struct Run {
    svix: Svix,
    uid: String,
    hour_ago: DateTime<Utc>,
    open_source: bool,
}

impl Run {
    async fn applications(&self) -> Result<String> {
        let api = self.svix.application();
        self.svix.health().get().await?;
        let mut application = ApplicationIn::new("Application".into());
        application.uid = Some(self.uid.clone());
        application.metadata = Some(map([("plan", "pro")]));
        let options = || Some(ApplicationCreateOptions { idempotency_key: Some(format!("{}-app", self.uid)) });
        let app = api.create(application.clone(), options()).await?.id;
        assert_eq!(api.create(application.clone(), options()).await?.id, app);
        assert_eq!(api.get_or_create(application.clone(), None).await?.id, app);
        fails(409, api.create(application.clone(), None).await);
        fails(422, api.create(ApplicationIn::new("".into()), None).await);
        fails(404, api.get("missing".into()).await);
        fails(401, connect("wrong".into()).application().list(None).await);
        assert_eq!(api.get(self.uid.clone()).await?.metadata, map([("plan", "pro")]));
        application.name = "Changed".into();
        assert_eq!(api.upsert(self.uid.clone(), application).await?.name, "Changed");
        let mut patch = ApplicationPatch::new();
        patch.metadata = Some(map([("a", "b")]));
        assert_eq!(api.patch(self.uid.clone(), patch).await?.metadata, map([("a", "b")]));
        let other = format!("{}-2", self.uid);
        let mut application = ApplicationIn::new("Other".into());
        application.uid = Some(other.clone());
        let other = api.upsert(other, application).await?.id;
        let page = |iterator| {
            Some(ApplicationListOptions { limit: Some(1), iterator, order: Some(Ordering::Descending), ..Default::default() })
        };
        let first = api.list(page(None)).await?;
        assert_eq!(first.data[0].id, other);
        assert_eq!(api.list(page(first.iterator)).await?.data[0].id, app);
        api.delete(other).await?;
        Ok(app)
    }

    async fn event_types(&self) -> Result<String> {
        let api = self.svix.event_type();
        let (name, old) = (format!("{}.created", self.uid), format!("{}.old", self.uid));
        let mut given = EventTypeIn::new(name.clone(), "Created".into());
        given.schemas = Some(json!({ "1": { "type": "object" } }));
        assert_eq!(api.create(given.clone(), None).await?.schemas, given.schemas);
        fails(409, api.create(given, None).await);
        assert_eq!(api.get(name.clone()).await?.description, "Created");
        assert_eq!(api.upsert(name.clone(), EventTypeUpsertIn::new("Changed".into())).await?.description, "Changed");
        let mut patch = EventTypePatch::new();
        patch.deprecated = Some(true);
        assert!(api.patch(name.clone(), patch).await?.deprecated);
        api.list(Some(EventTypeListOptions { limit: Some(250), ..Default::default() })).await?;
        api.create(EventTypeIn::new(old.clone(), "Old".into()), None).await?;
        api.delete(old.clone(), Some(EventTypeDeleteOptions { expunge: Some(true) })).await?;
        fails(404, api.get(old).await);
        Ok(name)
    }

    async fn endpoints(&self, app: &str, name: &str) -> Result<String> {
        let api = self.svix.endpoint();
        let app = || app.to_owned();
        let (address, secret) = (format!("{}/rust", given("SVIX_RECEIVER")), given("SVIX_SECRET"));
        let mut endpoint = EndpointIn::new(address.clone());
        endpoint.uid = Some("main".into());
        endpoint.secret = Some(secret.clone());
        endpoint.event_types = Some([name.to_owned()].into());
        endpoint.throttle_rate = Some(500);
        let made = api.create(app(), endpoint.clone(), None).await?;
        assert_eq!((made.event_types, made.throttle_rate), (endpoint.event_types.clone(), Some(500)));
        let id = || made.id.clone();
        fails(409, api.create(app(), endpoint, None).await);
        fails(422, api.create(app(), EndpointIn::new("nonsense".into()), None).await);
        assert_eq!(api.get(self.uid.clone(), "main".into()).await?.id, id());
        let mut upsert = EndpointUpsertIn::new(address);
        upsert.uid = Some("main".into());
        upsert.description = Some("Put".into());
        assert_eq!(api.upsert(app(), id(), upsert).await?.description, "Put");
        let mut patch = EndpointPatch::new();
        patch.description = Some("Patched".into());
        assert_eq!(api.patch(app(), id(), patch).await?.description, "Patched");
        assert_eq!(api.list(app(), None).await?.data.len(), 1);
        assert_eq!(api.get_secret(app(), id()).await?.key, secret);
        api.set_headers(app(), id(), EndpointHeadersIn::new(map([("x-team", "blue"), ("authorization", "Bearer t")]))).await?;
        api.patch_headers(app(), id(), EndpointHeadersPatchIn::new(map([("x-team", "red")]))).await?;
        let headers = api.get_headers(app(), id()).await?;
        assert_eq!(headers.headers, map([("x-team", "red")]));
        assert!(headers.sensitive.contains("authorization"));
        let mut spare = EndpointIn::new(format!("{}/spare", given("SVIX_RECEIVER")));
        spare.disabled = Some(true);
        let spare = api.create(app(), spare, None).await?.id;
        if !self.open_source {
            let rotation = EndpointSecretRotateIn { key: Some(secret.clone()), ..EndpointSecretRotateIn::new() };
            assert_eq!(api.rotate_secret(app(), spare.clone(), rotation, None).await?.key, secret);
        }
        api.delete(app(), spare.clone()).await?;
        fails(404, api.get(app(), spare).await);
        Ok(made.id)
    }

    async fn messages(&self, app: &str, name: &str) -> Result<String> {
        let api = self.svix.message();
        let app = || app.to_owned();
        let mut message = MessageIn::new(name.to_owned(), json!({ "n": 1 }));
        let options = || Some(MessageCreateOptions { idempotency_key: Some(format!("{}-2", self.uid)), ..Default::default() });
        let second = api.create(app(), message.clone(), options()).await?.id;
        assert_eq!(api.create(app(), message.clone(), options()).await?.id, second);
        message.event_id = Some(format!("{}-1", self.uid));
        let first = api.create(app(), message.clone(), None).await?.id;
        fails(409, api.create(app(), message.clone(), None).await);
        let whole = Some(MessageGetOptions { with_content: Some(true) });
        assert_eq!(api.get(app(), message.event_id.unwrap(), whole).await?.payload, json!({ "n": 1 }));
        let filter =
            MessageListOptions { event_types: Some([name.to_owned()].into()), after: Some(self.hour_ago), ..Default::default() };
        let found = api.list(app(), Some(filter)).await?.data;
        assert_eq!(found.into_iter().map(|one| one.id).collect::<Vec<_>>(), [first.clone(), second]);
        Ok(first)
    }

    async fn attempts(&self, app: &str, endpoint: &str, message: &str) -> Result<String> {
        let api = self.svix.message_attempt();
        let (app, endpoint, message) = (|| app.to_owned(), || endpoint.to_owned(), || message.to_owned());
        let successes = async || {
            let options = MessageAttemptListByMsgOptions {
                endpoint_id: Some(endpoint()),
                status: Some(MessageStatus::Success),
                with_content: Some(true),
                ..Default::default()
            };
            api.list_by_msg(app(), message(), Some(options)).await.map(|page| page.data)
        };
        until(async || Ok(successes().await?.len() == 1)).await?;
        let attempt = successes().await?.remove(0);
        assert_eq!((attempt.response_status_code, attempt.response.as_str()), (200, r#"{"ok":true}"#));
        until(async || Ok(api.list_by_endpoint(app(), endpoint(), None).await?.data.len() == 2)).await?;
        assert_eq!(api.get(app(), message(), attempt.id.clone(), None).await?.msg_id, message());
        assert_eq!(api.list_attempted_messages(app(), endpoint(), None).await?.data.len(), 2);
        assert_eq!(api.list_attempted_destinations(app(), message(), None).await?.data[0].id, endpoint());
        api.resend(app(), message(), endpoint(), None).await?;
        until(async || Ok(successes().await?.len() == 2)).await?;
        assert_eq!(self.svix.endpoint().get_stats(app(), endpoint(), None).await?.fail, 0);
        let task = self.svix.endpoint().recover(app(), endpoint(), RecoverIn::new(self.hour_ago), None).await?.id;
        self.svix.endpoint().send_example(app(), endpoint(), EventExampleIn::new("svix.ping".into()), None).await?;
        api.expunge_content(app(), message(), attempt.id).await?;
        self.svix.message().expunge_content(app(), message()).await?;
        Ok(task)
    }

    async fn portal(&self, app: &str) -> Result<()> {
        let access = self.svix.authentication().app_portal_access(app.to_owned(), AppPortalAccessIn::new(), None).await?;
        let own = connect(access.token);
        assert_eq!(own.endpoint().list(app.to_owned(), None).await?.data.len(), 1);
        fails(403, own.application().list(None).await);
        if !self.open_source {
            own.authentication().logout(None).await?;
            fails(401, own.endpoint().list(app.to_owned(), None).await);
        }
        Ok(())
    }

    /// What the open-source server has no route for.
    async fn beyond(&self, app: &str, endpoint: &str, task: &str, name: &str) -> Result<()> {
        let svix = &self.svix;
        let (app, endpoint) = (|| app.to_owned(), || endpoint.to_owned());
        until(async || Ok(svix.background_task().get(task.to_owned()).await?.status == BackgroundTaskStatus::Finished)).await?;
        svix.background_task().list(None).await?;
        svix.endpoint().replay_missing(app(), endpoint(), ReplayIn::new(self.hour_ago), None).await?;
        svix.endpoint().bulk_replay(app(), endpoint(), BulkReplayIn::new(self.hour_ago), None).await?;
        assert!(svix.message().precheck(app(), MessagePrecheckIn::new(name.to_owned()), None).await?.active);
        svix.statistics().aggregate_app_stats(AppUsageStatsIn::new(self.hour_ago, Utc::now()), None).await?;
        svix.statistics().aggregate_event_types().await?;
        svix.environment().export(None).await?;
        let mut imported = EnvironmentIn::new();
        imported.event_types = Some(vec![EventTypeIn::new(format!("{}.imported", self.uid), "Imported".into())]);
        svix.environment().import(imported, None).await?;
        let webhook = format!("{}.webhook", self.uid);
        let mut openapi = EventTypeImportOpenApiIn::new();
        let schema = json!({ "content": { "application/json": { "schema": { "type": "object" } } } });
        openapi.spec = Some(json!({
            "openapi": "3.1.0", "info": { "title": "x", "version": "1" },
            "webhooks": { &webhook: { "post": { "description": "By OpenAPI", "requestBody": schema } } },
        }));
        assert_eq!(svix.event_type().import_openapi(openapi, None).await?.data.modified, [webhook]);
        let mut patch = EndpointTransformationPatch::new();
        patch.enabled = Some(false);
        svix.endpoint().transformation().patch(app(), endpoint(), patch).await?;
        assert_eq!(svix.endpoint().transformation().get(app(), endpoint()).await?.enabled, Some(false));
        svix.authentication().expire_all(app(), ApplicationTokenExpireIn::new(), None).await?;
        fails(404, svix.integration().list(app(), None).await);
        Ok(())
    }
}

async fn until(is_done: impl AsyncFn() -> Result<bool>) -> Result<()> {
    for _ in 0..600 {
        if is_done().await? {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not within 30 seconds");
}

#[tokio::main]
async fn main() -> Result<()> {
    let run = Run {
        svix: connect(given("SVIX_TOKEN")),
        uid: format!("rust-{}", std::process::id()),
        hour_ago: Utc::now() - TimeDelta::hours(1),
        open_source: env::var("SVIX_OPEN_SOURCE").is_ok(),
    };
    let app = run.applications().await?;
    let name = run.event_types().await?;
    let endpoint = run.endpoints(&app, &name).await?;
    let message = run.messages(&app, &name).await?;
    let task = run.attempts(&app, &endpoint, &message).await?;
    run.portal(&app).await?;
    if !run.open_source {
        run.beyond(&app, &endpoint, &task, &name).await?;
    }
    run.svix.application().delete(app.clone()).await?;
    fails(404, run.svix.endpoint().list(app, None).await);
    Ok(())
}

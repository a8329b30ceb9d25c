// Calls the operations with the library in Java, whose versions 1.x have the former names of fields.
import com.svix.Svix;
import com.svix.SvixOptions;
import com.svix.api.*;
import com.svix.exceptions.ApiException;
import com.svix.models.*;
import java.net.URI;
import java.time.OffsetDateTime;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Predicate;

public class Client {
    static final String URL = System.getenv("SVIX_URL"), RECEIVER = System.getenv("SVIX_RECEIVER"), SECRET = System.getenv("SVIX_SECRET");
    static final boolean OPEN_SOURCE = System.getenv("SVIX_OPEN_SOURCE") != null;
    static final String UID = "java-" + ProcessHandle.current().pid();
    static final OffsetDateTime HOUR_AGO = OffsetDateTime.now().minusHours(1);
    static final Svix svix = connect(System.getenv("SVIX_TOKEN"));

    static Svix connect(String token) {
        SvixOptions options = new SvixOptions();
        options.setServerUrl(URL);
        return new Svix(token, options);
    }

    interface Call {
        Object run() throws Exception;
    }

    static void fails(int status, Call call) throws Exception {
        try {
            call.run();
        } catch (ApiException error) {
            equal(error.getCode(), status);
            return;
        }
        throw new AssertionError("no error " + status);
    }

    static void equal(Object one, Object other) {
        if (!Objects.equals(one, other)) throw new AssertionError(one + " is not " + other);
    }

    static <T> T until(Callable<T> read, Predicate<T> isDone) throws Exception {
        for (int tries = 0; tries < 600; tries++) {
            T answer = read.call();
            if (isDone.test(answer)) return answer;
            Thread.sleep(50);
        }
        throw new AssertionError("not within 30 seconds");
    }

    static String applications() throws Exception {
        ApplicationIn given = new ApplicationIn().name("Application").uid(UID).metadata(Map.of("plan", "pro"));
        ApplicationCreateOptions options = new ApplicationCreateOptions();
        options.setIdempotencyKey(UID + "-app");
        Application api = svix.getApplication();
        String app = api.create(given, options).getId();
        equal(api.create(given, options).getId(), app);
        equal(api.getOrCreate(given).getId(), app);
        fails(409, () -> api.create(given));
        fails(422, () -> api.create(new ApplicationIn().name("")));
        fails(404, () -> api.get("missing"));
        fails(401, () -> connect("wrong").getApplication().list());
        equal(api.get(UID).getMetadata(), Map.of("plan", "pro"));
        equal(api.update(UID, new ApplicationIn().name("Changed").uid(UID)).getName(), "Changed");
        equal(api.patch(UID, new ApplicationPatch().metadata(Map.of("a", "b"))).getMetadata(), Map.of("a", "b"));
        String other = api.update(UID + "-2", new ApplicationIn().name("Other").uid(UID + "-2")).getId();
        ApplicationListOptions page = new ApplicationListOptions();
        page.setLimit(1L);
        page.setOrder(Ordering.DESCENDING);
        ListResponseApplicationOut first = api.list(page);
        equal(first.getData().get(0).getId(), other);
        page.setIterator(first.getIterator());
        equal(api.list(page).getData().get(0).getId(), app);
        api.delete(other);
        return app;
    }

    static String eventTypes() throws Exception {
        EventType api = svix.getEventType();
        String name = UID + ".created", old = UID + ".old";
        api.create(new EventTypeIn().name(name).description("Created").schemas(Map.of("1", Map.of("type", "object"))));
        fails(409, () -> api.create(new EventTypeIn().name(name).description("Twice")));
        equal(api.get(name).getDescription(), "Created");
        equal(api.update(name, new EventTypeUpdate().description("Changed")).getDescription(), "Changed");
        equal(api.patch(name, new EventTypePatch().deprecated(true)).getDeprecated(), true);
        EventTypeListOptions all = new EventTypeListOptions();
        all.setLimit(250L);
        equal(api.list(all).getData().stream().anyMatch(one -> one.getName().equals(name)), true);
        api.create(new EventTypeIn().name(old).description("Old"));
        api.delete(old);
        equal(api.get(old).getArchived(), true);
        return name;
    }

    static String endpoints(String app, String name) throws Exception {
        Endpoint api = svix.getEndpoint();
        URI address = URI.create(RECEIVER + "/java");
        EndpointIn given = new EndpointIn().url(address).secret(SECRET).uid("main").filterTypes(Set.of(name)).rateLimit(500L);
        EndpointOut endpoint = api.create(app, given);
        equal(endpoint.getFilterTypes(), Set.of(name));
        equal(endpoint.getRateLimit(), 500L);
        fails(409, () -> api.create(app, given));
        String id = endpoint.getId();
        equal(api.get(UID, "main").getId(), id);
        equal(api.update(app, id, new EndpointUpdate().url(address).uid("main").description("Put")).getDescription(), "Put");
        equal(api.patch(app, id, new EndpointPatch().description("Patched")).getDescription(), "Patched");
        equal(api.list(app).getData().size(), 1);
        equal(api.getSecret(app, id).getKey(), SECRET);
        String spare = api.create(app, new EndpointIn().url(URI.create(RECEIVER + "/spare")).disabled(true)).getId();
        api.rotateSecret(app, spare, new EndpointSecretRotateIn().key(SECRET));
        equal(api.getSecret(app, spare).getKey(), SECRET);
        api.updateHeaders(app, id, new EndpointHeadersIn().headers(Map.of("x-team", "blue", "authorization", "Bearer t")));
        api.patchHeaders(app, id, new EndpointHeadersPatchIn().headers(Map.of("x-team", "red")));
        equal(api.getHeaders(app, id).getHeaders(), Map.of("x-team", "red"));
        equal(api.getHeaders(app, id).getSensitive(), Set.of("authorization"));
        api.delete(app, spare);
        fails(404, () -> api.get(app, spare));
        return id;
    }

    static String messages(String app, String name) throws Exception {
        Message api = svix.getMessage();
        MessageIn message = new MessageIn().eventType(name).payload("{\"n\":1}").eventId(UID + "-1");
        String first = api.create(app, message).getId();
        fails(409, () -> api.create(app, message));
        MessageCreateOptions options = new MessageCreateOptions();
        options.setIdempotencyKey(UID + "-2");
        MessageIn another = new MessageIn().eventType(name).payload("{\"n\":2}");
        String second = api.create(app, another, options).getId();
        equal(api.create(app, another, options).getId(), second);
        equal(api.get(app, UID + "-1").getId(), first);
        MessageListOptions filter = new MessageListOptions();
        filter.setEventTypes(Set.of(name));
        filter.setAfter(HOUR_AGO);
        ListResponseMessageOut found = api.list(app, filter);
        equal(found.getData().get(0).getId(), second);
        equal(found.getData().get(1).getId(), first);
        return first;
    }

    static String attempts(String app, String endpoint, String message) throws Exception {
        MessageAttempt api = svix.getMessageAttempt();
        MessageAttemptListByMsgOptions options = new MessageAttemptListByMsgOptions();
        options.setEndpointId(endpoint);
        options.setStatus(MessageStatus.SUCCESS);
        options.setWithContent(true);
        MessageAttemptOut attempt = until(() -> api.listByMsg(app, message, options), page -> page.getData().size() > 0).getData().get(0);
        equal(attempt.getResponse(), "{\"ok\":true}");
        until(() -> api.listByEndpoint(app, endpoint), page -> page.getData().size() == 2);
        equal(api.get(app, message, attempt.getId()).getMsgId(), message);
        equal(api.listAttemptedMessages(app, endpoint).getData().size(), 2);
        equal(api.listAttemptedDestinations(app, message).getData().get(0).getId(), endpoint);
        // `resend`, `logout` and `aggregateEventTypes` of this library send nothing: OkHttp refuses a POST without a body.
        equal(svix.getEndpoint().getStats(app, endpoint).getFail(), 0L);
        String task = svix.getEndpoint().recover(app, endpoint, new RecoverIn().since(HOUR_AGO)).getId();
        svix.getEndpoint().sendExample(app, endpoint, new EventExampleIn().eventType("svix.ping"));
        api.expungeContent(app, message, attempt.getId());
        svix.getMessage().expungeContent(app, message);
        return task;
    }

    static void portal(String app) throws Exception {
        Svix own = connect(svix.getAuthentication().appPortalAccess(app, new AppPortalAccessIn().featureFlags(Set.of("beta"))).getToken());
        equal(own.getEndpoint().list(app).getData().size(), 1);
        fails(403, () -> own.getApplication().list());
    }

    // What the open-source server has no route for.
    static void beyond(String app, String endpoint, String task, String name) throws Exception {
        until(() -> svix.getBackgroundTask().get(task), one -> one.getStatus() == BackgroundTaskStatus.FINISHED);
        svix.getBackgroundTask().list();
        svix.getEndpoint().replayMissing(app, endpoint, new ReplayIn().since(HOUR_AGO));
        svix.getEndpoint().bulkReplay(app, endpoint, new BulkReplayIn().since(HOUR_AGO).eventTypes(Set.of(name)));
        equal(svix.getMessage().precheck(app, new MessagePrecheckIn().eventType(name)).getActive(), true);
        svix.getStatistics().aggregateAppStats(new AppUsageStatsIn().since(HOUR_AGO).until(OffsetDateTime.now()));
        svix.getEndpoint().patchTransformation(app, endpoint, new EndpointTransformationPatch().code("function handler(webhook) { return webhook }").enabled(true));
        equal(svix.getEndpoint().transformationGet(app, endpoint).getEnabled(), true);
        svix.getAuthentication().expireAll(app, new ApplicationTokenExpireIn());
        fails(404, () -> svix.getIntegration().list(app));
    }

    public static void main(String[] arguments) throws Exception {
        String app = applications();
        String name = eventTypes();
        String endpoint = endpoints(app, name);
        String message = messages(app, name);
        String task = attempts(app, endpoint, message);
        portal(app);
        if (!OPEN_SOURCE) beyond(app, endpoint, task, name);
        svix.getApplication().delete(app);
        fails(404, () -> svix.getEndpoint().list(app));
    }
}

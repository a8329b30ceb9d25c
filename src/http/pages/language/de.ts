import type { Words } from './en.ts'

export const de: Words = {
  common: {
    continue: 'Weiter',
    continueTo: 'Weiter zu {name}',
    backTo: 'Zurück zu {name}',
    tryAgain: 'Erneut versuchen',
    signedInAs: 'Sie sind als {name} angemeldet.',
    goToDashboard: 'Zum Dashboard',
    allow: 'Zulassen',
    deny: 'Ablehnen',
    oneMoment: 'Einen Moment',
    referenceId: 'Referenznummer: {id}',
    contactSupport: 'Support kontaktieren',
    needsScript: 'Für diese Seite ist JavaScript erforderlich.',
  },
  footer: { terms: 'Nutzungsbedingungen', privacy: 'Datenschutz', support: 'Support' },
  signIn: {
    title: 'Anmelden',
    toContinueTo: 'Weiter zu {app}',
    providers: 'Anmeldemöglichkeiten',
    continueWith: 'Weiter mit {provider}',
    lastUsed: 'Zuletzt verwendet',
    noProvider: 'Die Anmeldung ist noch nicht eingerichtet.',
    againTitle: 'Erneut anmelden',
    again: 'Melden Sie sich erneut an, um Ihre Identität zu bestätigen.',
    chooseTitle: 'Konto auswählen',
    choose: 'Wählen Sie den Anbieter des Kontos aus, das Sie verwenden möchten.',
    invitedTitle: 'Einladung annehmen',
    invited: 'Sie sind zu {service} eingeladen.',
    invitedBy: '{name} hat Sie zu {service} eingeladen.',
    invitedAddress: 'Verwenden Sie ein Konto mit der bestätigten E-Mail-Adresse {email}.',
    invitedSignedIn:
      'Die Einladung gilt für ein neues Konto. Melden Sie sich ab oder wählen Sie ein anderes Konto, um sie zu verwenden.',
    doneTitle: 'Sie sind angemeldet',
    done: 'Sie können diese Seite schließen.',
    otherAccount: 'Oder ein anderes Konto verwenden',
    signOut: 'Abmelden',
    thisAccount: 'dieses Konto',
    thatProvider: 'diesem Anbieter',
    twoAccounts:
      'Sie haben zwei Konten: {account} und ein weiteres, bei dem Sie sich mit {provider} anmelden.',
    useOther: 'Um das andere Konto zu verwenden, melden Sie sich ab und fahren Sie mit {provider} fort.',
    moveProvider:
      'Um die Anmeldung mit {provider} hierher zu übertragen ({account}), melden Sie sich beim anderen Konto an, verknüpfen Sie dort eine weitere Identität und heben Sie die Verknüpfung mit {provider} auf. Kommen Sie dann zurück und verknüpfen Sie sie hier.',
    signedInBefore: 'Sie haben sich bisher mit {providers} angemeldet',
    sameAddress:
      'Es gibt hier bereits ein Konto mit {address}. Melden Sie sich bei diesem Konto an, um {provider} hinzuzufügen. Wenn es nicht Ihres ist, fahren Sie als neuer Benutzer fort.',
    linkWith: 'Mit {provider} anmelden und verknüpfen',
    newUser: 'Als neuer Benutzer fortfahren',
  },
  failures: {
    'sign-in-expired':
      'Diese Anmeldung hat länger als zehn Minuten gedauert, wurde bereits abgeschlossen oder in einem anderen Browser gestartet. Versuchen Sie es erneut.',
    'access-denied': 'Sie haben die Anmeldung beim Anbieter abgebrochen.',
    'provider-refused':
      'Der Anbieter hat die Anmeldung abgelehnt. Versuchen Sie es erneut. Sollte das Problem weiterhin bestehen, wenden Sie sich an den Support.',
    'provider-unavailable': 'Der Anbieter antwortet nicht. Versuchen Sie es in einer Minute erneut.',
    'provider-answer-invalid':
      'Die Antwort des Anbieters konnte nicht überprüft werden. Versuchen Sie es erneut. Sollte das Problem weiterhin bestehen, wenden Sie sich an den Support.',
    'account-not-admitted':
      'Mit diesem Konto können Sie sich hier nicht anmelden. Verwenden Sie ein Konto Ihrer Organisation mit bestätigter E-Mail-Adresse.',
    'not-invited':
      'Für ein neues Konto brauchen Sie eine Einladung. Bitten Sie Ihren Administrator darum und öffnen Sie dann ihren Link.',
    'invitation-invalid':
      'Diese Einladung ist nicht mehr gültig: Sie wurde verwendet oder widerrufen oder ist abgelaufen. Bitten Sie um eine neue. Wenn Sie schon ein Konto haben, melden Sie sich ohne sie an.',
    'invitation-mismatch':
      'Diese Einladung gilt für eine andere E-Mail-Adresse, oder der Anbieter hat Ihre Adresse nicht bestätigt. Verwenden Sie das Konto mit der Adresse der Einladung.',
    'account-blocked': 'Ihr Konto ist gesperrt. Wenden Sie sich an den Support.',
    refused: 'Sie können sich hier nicht anmelden.',
    'hook-failed':
      'Die Anmeldung konnte nicht abgeschlossen werden. Versuchen Sie es erneut. Sollte das Problem weiterhin bestehen, wenden Sie sich an den Support.',
    'identity-taken': 'Diese Identität gehört zu einem anderen Konto und wurde daher nicht verknüpft.',
    'account-exists':
      'Sie haben sich bisher mit einem anderen Anbieter angemeldet. Melden Sie sich damit an und verknüpfen Sie diese Identität dort, oder fahren Sie als neuer Benutzer fort.',
    'other-account':
      'Das Konto, mit dem Sie sich gerade angemeldet haben, verwendet diese Adresse nicht. Daher wurde nichts verknüpft. Melden Sie sich mit dem bisherigen Konto an oder fahren Sie als neuer Benutzer fort.',
    'reauthentication-needed':
      'Melden Sie sich erneut an. Identitäten können nur kurz nach einer Anmeldung verknüpft oder getrennt werden. Wiederholen Sie den Vorgang anschließend.',
    'reauthentication-unproven':
      'Der Anbieter hat nicht bestätigt, dass Sie sich dort gerade angemeldet haben. Melden Sie sich dort ab und versuchen Sie es erneut. Sollte das Problem weiterhin bestehen, wenden Sie sich an den Support.',
    'issuer-changed':
      'Dieses Konto gehört zu einem anderen Server des Anbieters. Wenden Sie sich an den Support.',
    'session-changed':
      'Sie wurden abgemeldet oder haben das Konto gewechselt, während die Identität verknüpft wurde. Melden Sie sich an und verknüpfen Sie sie erneut.',
    unavailable: 'Die Anmeldung ist vorübergehend nicht möglich. Versuchen Sie es in einer Minute erneut.',
    unknown: 'Die Anmeldung ist fehlgeschlagen. Versuchen Sie es erneut.',
  },
  errors: {
    signInTitle: 'Zum Fortfahren anmelden',
    signIn: 'Sie sind nicht angemeldet oder Ihre Sitzung ist abgelaufen.',
    signInAdvice: 'Nach der Anmeldung kehren Sie zu dieser Seite zurück.',
    forbiddenTitle: 'Sie haben keinen Zugriff',
    forbidden: 'Ihr Konto ist nicht berechtigt, diese Seite zu öffnen.',
    forbiddenAdvice:
      'Melden Sie sich mit einem anderen Konto an oder bitten Sie Ihren Administrator um Zugriff.',
    notFoundTitle: 'Seite nicht gefunden',
    notFound: 'Unter dieser Adresse gibt es keine Seite.',
    notFoundAdvice: 'Prüfen Sie die Adresse. Möglicherweise wurde die Seite entfernt.',
    tooManyTitle: 'Zu viele Anfragen',
    tooMany: 'Von Ihrem Netzwerk oder Konto kamen zu viele Anfragen.',
    tooManyAdvice: 'Warten Sie eine Minute und versuchen Sie es dann erneut.',
    invalidTitle: 'Anfrage fehlgeschlagen',
    invalid: 'Die Anfrage war ungültig.',
    invalidAdvice:
      'Gehen Sie zurück und versuchen Sie es erneut. Sollte das Problem weiterhin bestehen, wenden Sie sich an den Support.',
    unavailableTitle: 'Vorübergehend nicht verfügbar',
    unavailable: 'Der Dienst kann gerade nicht antworten.',
    unavailableAdvice: 'Versuchen Sie es in einer Minute erneut.',
    internalTitle: 'Etwas ist schiefgelaufen',
    internal: 'Ein interner Fehler ist aufgetreten.',
    internalAdvice:
      'Versuchen Sie es erneut. Sollte das Problem weiterhin bestehen, wenden Sie sich mit der Referenznummer an den Support.',
  },
  apps: {
    invalid: 'Die App, von der Sie kommen, hat eine ungültige Anfrage gesendet.',
    invalidAdvice:
      'Kehren Sie zur App zurück und versuchen Sie es erneut. Sollte das Problem weiterhin bestehen, wenden Sie sich an den Betreiber der App.',
    overTitle: 'Diese Anmeldung ist nicht mehr gültig',
    over: 'Sie hat zu lange gedauert, wurde bereits abgeschlossen oder in einem anderen Browser gestartet. Beginnen Sie in der App von vorn.',
    overAdvice: 'Wenn Sie in der App bereits angemeldet sind, können Sie diese Seite schließen.',
    uncheckedTitle: 'Sie wurden nicht angemeldet',
    unchecked: '{app} hat eine Anmeldung angefordert, die nicht stattgefunden hat.',
    uncheckedAdvice:
      'Diese App wurde nicht geprüft: Sie hat sich selbst registriert, und Sie haben ihr keinen Zugriff gewährt. Fahren Sie nur fort, wenn Sie {host} vertrauen. Schließen Sie andernfalls diese Seite.',
  },
  consent: {
    title: 'Zugriff für {app} zulassen?',
    wants: '{app} möchte:',
    apis: 'APIs: {apis}',
    destination: 'Sie werden zu {host} weitergeleitet.',
    identity: 'Die App weist sich als {host} aus.',
    caution:
      'Lassen Sie den Zugriff nur zu, wenn Sie dieser App vertrauen. Sie können ihn später in Ihrem Konto entfernen.',
    useScope: '{scope} verwenden',
  },
  scopes: {
    openid: 'Sie anhand einer ID wiedererkennen',
    profile: 'Ihren Namen, Ihr Profilbild und weitere Profilangaben sehen',
    email: 'Ihre E-Mail-Adresse sehen',
    groups: 'Ihre Gruppen sehen',
    offline_access: 'Verbunden bleiben, nachdem Sie sich hier abgemeldet haben',
  },
  device: {
    title: 'Gerät anmelden',
    enterCode: 'Geben Sie den Code ein, der auf Ihrem Gerät angezeigt wird.',
    code: 'Code',
    unknownCode:
      'Dieser Code ist falsch, wurde bereits verwendet oder ist abgelaufen. Prüfen Sie den Code auf Ihrem Gerät.',
    confirmTitle: 'Dieses Gerät anmelden?',
    wants: '{app} auf einem Gerät möchte:',
    device: 'Gerät',
    unknownDevice: 'Unbekanntes Gerät',
    browserOn: '{browser} unter {system}',
    someBrowserOn: 'Browser unter {system}',
    address: 'IP-Adresse',
    unknownAddress: 'Unbekannt',
    otherAddress: '{address} (nicht die Adresse dieses Browsers)',
    stays:
      'Das Gerät bleibt angemeldet, auch wenn Sie sich hier abmelden. Sie können das später in Ihrem Konto beenden.',
    cautionTitle: 'Hat Ihnen jemand diesen Link oder Code geschickt?',
    caution:
      'Dann wählen Sie „Ablehnen“. Andernfalls wäre diese Person mit Ihrem Konto angemeldet. Niemand braucht das, um Ihnen zu helfen.',
    started: 'Ich habe den Vorgang selbst gestartet, und mein Gerät zeigt {code} an.',
    notCompared: 'Vergleichen Sie zuerst die Codes und aktivieren Sie dann das Kästchen.',
    doneTitle: 'Ihr Gerät ist angemeldet',
    done: 'Kehren Sie zu Ihrem Gerät zurück. Sie können diese Seite schließen.',
    deniedTitle: 'Anmeldung abgelehnt',
    denied: 'Das Gerät ist nicht angemeldet. Sie können diese Seite schließen.',
  },
  signOut: {
    title: 'Abmelden?',
    consequence: 'Sie werden hier und in den Apps abgemeldet, die Sie in diesem Browser verwenden.',
    requestedBy: '{app} hat das angefordert.',
    confirm: 'Abmelden',
    stay: 'Angemeldet bleiben',
    doneTitle: 'Sie sind abgemeldet',
    done: 'Ihre Sitzung in diesem Browser wurde beendet.',
    again: 'Erneut anmelden',
    rejectedTitle: 'Sie sind weiterhin angemeldet',
    rejected: 'Die App hat eine ungültige Abmeldeanfrage gesendet.',
    rejectedAdvice: 'Es wurde nichts geändert. Sie können sich auf der Anmeldeseite abmelden.',
    signInPage: 'Zur Anmeldeseite',
  },
  guarded: {
    formTitle: 'Sie sind abgemeldet',
    form: 'Das Formular wurde nicht gesendet, und es wurde nichts gespeichert.',
    formAdvice:
      'Um Ihre Eingaben zu behalten, melden Sie sich in einem neuen Tab an. Kehren Sie dann zu diesem Tab zurück, laden Sie ihn neu und bestätigen Sie, dass das Formular erneut gesendet wird.',
    formSignIn: 'In neuem Tab anmelden',
    forbiddenTitle: 'Sie haben keinen Zugriff',
    forbidden: 'Dieses Konto ist nicht berechtigt, diese Seite zu öffnen.',
    account: 'Ihr Konto',
    refusedTitle: 'Die Anmeldung wurde nicht abgeschlossen',
    refused:
      'Sie hat zu lange gedauert, wurde bereits abgeschlossen oder in einem anderen Browser gestartet. Für diese Website müssen Cookies aktiviert sein.',
  },
}

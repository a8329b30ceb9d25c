import type { Words } from './en.ts'

export const nl: Words = {
  common: {
    continue: 'Doorgaan',
    continueTo: 'Doorgaan naar {name}',
    backTo: 'Terug naar {name}',
    tryAgain: 'Opnieuw proberen',
    signedInAs: 'Je bent ingelogd als {name}.',
    goToDashboard: 'Naar het dashboard',
    allow: 'Toestaan',
    deny: 'Weigeren',
    oneMoment: 'Een ogenblik',
    referenceId: 'Referentienummer: {id}',
    contactSupport: 'Contact opnemen met support',
    needsScript: 'Voor deze pagina is JavaScript nodig.',
  },
  footer: { terms: 'Voorwaarden', privacy: 'Privacy', support: 'Support' },
  signIn: {
    title: 'Inloggen',
    toContinueTo: 'Om door te gaan naar {app}',
    providers: 'Manieren om in te loggen',
    continueWith: 'Doorgaan met {provider}',
    lastUsed: 'Laatst gebruikt',
    noProvider: 'Inloggen is nog niet ingesteld.',
    againTitle: 'Opnieuw inloggen',
    again: 'Log opnieuw in om te bevestigen dat jij het bent.',
    chooseTitle: 'Kies een account',
    choose: 'Kies de provider van het account dat je wilt gebruiken.',
    invitedTitle: 'Uitnodiging accepteren',
    invited: 'Je bent uitgenodigd voor {service}.',
    invitedBy: '{name} heeft je uitgenodigd voor {service}.',
    invitedAddress: 'Gebruik een account met het geverifieerde e-mailadres {email}.',
    invitedSignedIn:
      'De uitnodiging is voor een nieuw account. Log uit of kies een ander account om de uitnodiging te gebruiken.',
    doneTitle: 'Je bent ingelogd',
    done: 'Je kunt deze pagina sluiten.',
    otherAccount: 'Of gebruik een ander account',
    signOut: 'Uitloggen',
    thisAccount: 'dit account',
    thatProvider: 'die provider',
    twoAccounts: 'Je hebt twee accounts: {account} en een ander account waarop je inlogt met {provider}.',
    useOther: 'Als je het andere account wilt gebruiken, log je uit en ga je door met {provider}.',
    moveProvider:
      'Als je {provider} wilt verplaatsen naar {account}, log je in op het andere account, koppel je daar een andere identiteit en ontkoppel je {provider}. Kom daarna terug en koppel die hier.',
    signedInBefore: 'Je hebt eerder ingelogd met {providers}',
    sameAddress:
      'Er is hier al een account met {address}. Log daarop in om {provider} toe te voegen. Als het niet van jou is, ga je door als nieuwe gebruiker.',
    linkWith: 'Inloggen met {provider} en koppelen',
    newUser: 'Doorgaan als nieuwe gebruiker',
  },
  failures: {
    'sign-in-expired':
      'Deze inlogpoging duurde langer dan tien minuten, is al voltooid of is in een andere browser gestart. Probeer het opnieuw.',
    'access-denied': 'Je hebt het inloggen bij de provider geannuleerd.',
    'provider-refused':
      'De provider heeft het inloggen geweigerd. Probeer het opnieuw. Neem contact op met support als het probleem aanhoudt.',
    'provider-unavailable': 'De provider reageert niet. Probeer het over een minuut opnieuw.',
    'provider-answer-invalid':
      'Het antwoord van de provider kan niet worden geverifieerd. Probeer het opnieuw. Neem contact op met support als het probleem aanhoudt.',
    'account-not-admitted':
      'Met dit account kun je hier niet inloggen. Gebruik een account van je organisatie met een geverifieerd e-mailadres.',
    'not-invited':
      'Voor een nieuw account heb je een uitnodiging nodig. Vraag je beheerder erom en open daarna de link.',
    'invitation-invalid':
      'Deze uitnodiging is niet meer geldig: ze is gebruikt, ingetrokken of verlopen. Vraag om een nieuwe. Als je al een account hebt, log dan in zonder uitnodiging.',
    'invitation-mismatch':
      'Deze uitnodiging is voor een ander e-mailadres, of de provider heeft jouw adres niet bevestigd. Gebruik het account met het adres van de uitnodiging.',
    'account-blocked': 'Je account is geblokkeerd. Neem contact op met support.',
    refused: 'Je kunt hier niet inloggen.',
    'hook-failed':
      'Het inloggen kan niet worden voltooid. Probeer het opnieuw. Neem contact op met support als het probleem aanhoudt.',
    'identity-taken': 'Deze identiteit hoort bij een ander account en is daarom niet gekoppeld.',
    'account-exists':
      'Je hebt eerder ingelogd met een andere provider. Log daarmee in en koppel deze identiteit daar, of ga door als nieuwe gebruiker.',
    'other-account':
      'Het account waarmee je net hebt ingelogd, gebruikt dit adres niet. Daarom is er niets gekoppeld. Log in met het account dat je eerder hebt gebruikt, of ga door als nieuwe gebruiker.',
    'reauthentication-needed':
      'Log opnieuw in. Je kunt identiteiten alleen kort na het inloggen koppelen en ontkoppelen. Herhaal daarna de stap.',
    'reauthentication-unproven':
      'De provider heeft niet bevestigd dat je daar zojuist hebt ingelogd. Log daar uit en probeer het opnieuw. Neem contact op met support als het probleem aanhoudt.',
    'issuer-changed': 'Dit account hoort bij een andere server van de provider. Neem contact op met support.',
    'session-changed':
      'Je bent uitgelogd of van account gewisseld terwijl de identiteit werd gekoppeld. Log in en koppel de identiteit opnieuw.',
    unavailable: 'Inloggen is tijdelijk niet mogelijk. Probeer het over een minuut opnieuw.',
    unknown: 'Het inloggen is mislukt. Probeer het opnieuw.',
  },
  errors: {
    signInTitle: 'Log in om door te gaan',
    signIn: 'Je bent niet ingelogd of je sessie is verlopen.',
    signInAdvice: 'Na het inloggen keer je terug naar deze pagina.',
    forbiddenTitle: 'Je hebt geen toegang',
    forbidden: 'Je account heeft geen toestemming om deze pagina te openen.',
    forbiddenAdvice: 'Log in met een ander account of vraag je beheerder om toegang.',
    notFoundTitle: 'Pagina niet gevonden',
    notFound: 'Op dit adres staat geen pagina.',
    notFoundAdvice: 'Controleer het adres. De pagina kan zijn verwijderd.',
    tooManyTitle: 'Te veel verzoeken',
    tooMany: 'Er zijn te veel verzoeken gedaan vanaf je netwerk of account.',
    tooManyAdvice: 'Wacht een minuut en probeer het dan opnieuw.',
    invalidTitle: 'Dit verzoek is mislukt',
    invalid: 'Het verzoek is ongeldig.',
    invalidAdvice: 'Ga terug en probeer het opnieuw. Neem contact op met support als het probleem aanhoudt.',
    unavailableTitle: 'Tijdelijk niet beschikbaar',
    unavailable: 'De service kan nu niet reageren.',
    unavailableAdvice: 'Probeer het over een minuut opnieuw.',
    internalTitle: 'Er is iets misgegaan',
    internal: 'Er is een interne fout opgetreden.',
    internalAdvice:
      'Probeer het opnieuw. Als het probleem aanhoudt, neem je contact op met support en vermeld je het referentienummer.',
  },
  apps: {
    invalid: 'De app waarvan je afkomstig bent, heeft een ongeldig verzoek gedaan.',
    invalidAdvice:
      'Ga terug naar de app en probeer het opnieuw. Neem contact op met de beheerder van de app als het probleem aanhoudt.',
    overTitle: 'Deze inlogpoging is niet meer geldig',
    over: 'Deze poging duurde te lang, is al voltooid of is in een andere browser gestart. Begin opnieuw in de app.',
    overAdvice: 'Als je al bij de app bent ingelogd, kun je deze pagina sluiten.',
    uncheckedTitle: 'Je bent niet ingelogd',
    unchecked: '{app} heeft gevraagd om in te loggen, maar dat is niet gebeurd.',
    uncheckedAdvice:
      'Deze app is niet gecontroleerd: de app heeft zichzelf geregistreerd en je hebt geen toegang gegeven. Ga alleen door als je {host} vertrouwt. Sluit anders deze pagina.',
  },
  consent: {
    title: '{app} toegang geven?',
    wants: '{app} wil:',
    apis: 'API’s: {apis}',
    destination: 'Je gaat verder naar {host}.',
    identity: 'De app identificeert zich als {host}.',
    caution:
      'Geef alleen toegang als je deze app vertrouwt. Je kunt de toegang later in je account intrekken.',
    useScope: '{scope} gebruiken',
  },
  scopes: {
    openid: 'Je herkennen aan een ID',
    profile: 'Je naam, foto en andere profielgegevens bekijken',
    email: 'Je e-mailadres bekijken',
    groups: 'Bekijken tot welke groepen je behoort',
    offline_access: 'Verbonden blijven nadat je hier bent uitgelogd',
  },
  device: {
    title: 'Inloggen op een apparaat',
    enterCode: 'Voer de code in die op je apparaat staat.',
    code: 'Code',
    unknownCode: 'Deze code is onjuist, al gebruikt of verlopen. Controleer de code op je apparaat.',
    confirmTitle: 'Inloggen op dit apparaat?',
    wants: '{app} op een apparaat wil:',
    device: 'Apparaat',
    unknownDevice: 'Onbekend apparaat',
    browserOn: '{browser} op {system}',
    someBrowserOn: 'Browser op {system}',
    address: 'IP-adres',
    unknownAddress: 'Onbekend',
    otherAddress: '{address} (niet het adres van deze browser)',
    stays:
      'Het apparaat blijft ingelogd nadat je hier bent uitgelogd. Je kunt dit later in je account beëindigen.',
    cautionTitle: 'Heeft iemand je deze link of code gestuurd?',
    caution:
      'Kies dan ‘Weigeren’. Anders is die persoon ingelogd met jouw account. Niemand heeft dit nodig om je te helpen.',
    started: 'Ik ben dit zelf gestart en mijn apparaat toont {code}.',
    notCompared: 'Vergelijk eerst de codes en vink dan het vakje aan.',
    doneTitle: 'Je apparaat is ingelogd',
    done: 'Ga terug naar je apparaat. Je kunt deze pagina sluiten.',
    deniedTitle: 'Inloggen geweigerd',
    denied: 'Het apparaat is niet ingelogd. Je kunt deze pagina sluiten.',
  },
  signOut: {
    title: 'Uitloggen?',
    consequence: 'Je wordt hier uitgelogd en ook bij de apps die je in deze browser gebruikt.',
    requestedBy: '{app} heeft hierom gevraagd.',
    confirm: 'Uitloggen',
    stay: 'Ingelogd blijven',
    doneTitle: 'Je bent uitgelogd',
    done: 'Je sessie in deze browser is beëindigd.',
    again: 'Opnieuw inloggen',
    rejectedTitle: 'Je bent nog ingelogd',
    rejected: 'De app heeft een ongeldig uitlogverzoek gedaan.',
    rejectedAdvice: 'Er is niets gewijzigd. Je kunt uitloggen op de inlogpagina.',
    signInPage: 'Naar de inlogpagina',
  },
  guarded: {
    formTitle: 'Je bent uitgelogd',
    form: 'Het formulier is niet verzonden en er is niets opgeslagen.',
    formAdvice:
      'Log in op een nieuw tabblad om je invoer te behouden. Ga daarna terug naar dit tabblad, laad het opnieuw en bevestig dat het formulier opnieuw wordt verzonden.',
    formSignIn: 'Inloggen op een nieuw tabblad',
    forbiddenTitle: 'Je hebt geen toegang',
    forbidden: 'Dit account heeft geen toestemming om deze pagina te openen.',
    account: 'Je account',
    refusedTitle: 'Het inloggen is niet voltooid',
    refused:
      'Het duurde te lang, is al voltooid of is in een andere browser gestart. Voor deze site moeten cookies zijn ingeschakeld.',
  },
}

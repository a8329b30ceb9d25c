import type { Words } from './en.ts'

export const fr: Words = {
  common: {
    continue: 'Continuer',
    continueTo: 'Continuer vers {name}',
    backTo: 'Revenir à {name}',
    tryAgain: 'Réessayer',
    signedInAs: 'Vous êtes connecté en tant que {name}.',
    goToDashboard: 'Accéder au tableau de bord',
    allow: 'Autoriser',
    deny: 'Refuser',
    oneMoment: 'Un instant',
    referenceId: 'Numéro de référence : {id}',
    contactSupport: 'Contacter l’assistance',
    needsScript: 'Cette page nécessite JavaScript.',
  },
  footer: { terms: 'Conditions', privacy: 'Confidentialité', support: 'Assistance' },
  signIn: {
    title: 'Se connecter',
    toContinueTo: 'Pour accéder à {app}',
    providers: 'Méthodes de connexion',
    continueWith: 'Continuer avec {provider}',
    lastUsed: 'Dernière utilisation',
    noProvider: 'La connexion n’est pas encore configurée.',
    againTitle: 'Se reconnecter',
    again: 'Reconnectez-vous pour confirmer votre identité.',
    chooseTitle: 'Choisir un compte',
    choose: 'Choisissez le fournisseur du compte que vous souhaitez utiliser.',
    invitedTitle: 'Accepter l’invitation',
    invited: 'Vous êtes invité à rejoindre {service}.',
    invitedBy: '{name} vous invite à rejoindre {service}.',
    invitedAddress: 'Utilisez un compte dont l’adresse e-mail vérifiée est {email}.',
    invitedSignedIn:
      'L’invitation est destinée à un nouveau compte. Pour l’utiliser, déconnectez-vous ou choisissez un autre compte.',
    doneTitle: 'Vous êtes connecté',
    done: 'Vous pouvez fermer cette page.',
    otherAccount: 'Ou utiliser un autre compte',
    signOut: 'Se déconnecter',
    thisAccount: 'ce compte',
    thatProvider: 'ce fournisseur',
    twoAccounts:
      'Vous avez deux comptes : {account}, et un autre auquel vous vous connectez avec {provider}.',
    useOther: 'Pour utiliser l’autre compte, déconnectez-vous, puis continuez avec {provider}.',
    moveProvider:
      'Pour rattacher {provider} à {account}, connectez-vous à l’autre compte, associez-y une autre identité, puis dissociez {provider}. Revenez ensuite ici pour l’associer.',
    signedInBefore: 'Vous vous êtes déjà connecté avec {providers}',
    sameAddress:
      'Un compte utilise déjà {address} ici. Connectez-vous à ce compte pour y ajouter {provider}. Si ce n’est pas le vôtre, continuez en tant que nouvel utilisateur.',
    linkWith: 'Se connecter avec {provider} et associer',
    newUser: 'Continuer en tant que nouvel utilisateur',
  },
  failures: {
    'sign-in-expired':
      'Cette connexion a duré plus de dix minutes, est déjà terminée ou a été commencée dans un autre navigateur. Réessayez.',
    'access-denied': 'Vous avez annulé la connexion chez le fournisseur.',
    'provider-refused':
      'Le fournisseur a refusé la connexion. Réessayez. Si le problème persiste, contactez l’assistance.',
    'provider-unavailable': 'Le fournisseur ne répond pas. Réessayez dans une minute.',
    'provider-answer-invalid':
      'La réponse du fournisseur n’a pas pu être vérifiée. Réessayez. Si le problème persiste, contactez l’assistance.',
    'account-not-admitted':
      'Ce compte ne permet pas de se connecter ici. Utilisez un compte de votre organisation dont l’adresse e-mail est validée.',
    'not-invited':
      'Une invitation est nécessaire pour créer un compte. Demandez-la à votre administrateur, puis ouvrez son lien.',
    'invitation-invalid':
      'Cette invitation n’est plus valable : elle a été utilisée ou révoquée, ou elle a expiré. Demandez-en une nouvelle. Si vous avez déjà un compte, connectez-vous sans elle.',
    'invitation-mismatch':
      'Cette invitation est destinée à une autre adresse e-mail, ou le fournisseur n’a pas confirmé la vôtre. Utilisez le compte qui a l’adresse de l’invitation.',
    'account-blocked': 'Votre compte est bloqué. Contactez l’assistance.',
    refused: 'Vous ne pouvez pas vous connecter ici.',
    'hook-failed':
      'La connexion n’a pas pu aboutir. Réessayez. Si le problème persiste, contactez l’assistance.',
    'identity-taken': 'Cette identité appartient à un autre compte. Elle n’a donc pas été associée.',
    'account-exists':
      'Vous vous êtes déjà connecté avec un autre fournisseur. Connectez-vous avec celui-ci et associez-y cette identité, ou continuez en tant que nouvel utilisateur.',
    'other-account':
      'Le compte avec lequel vous venez de vous connecter n’utilise pas cette adresse. Rien n’a donc été associé. Connectez-vous avec le compte utilisé auparavant, ou continuez en tant que nouvel utilisateur.',
    'reauthentication-needed':
      'Reconnectez-vous. Les identités ne peuvent être associées ou dissociées que peu après une connexion. Recommencez ensuite l’opération.',
    'reauthentication-unproven':
      'Le fournisseur n’a pas confirmé que vous venez de vous y connecter. Déconnectez-vous chez lui, puis réessayez. Si le problème persiste, contactez l’assistance.',
    'issuer-changed': 'Ce compte appartient à un autre serveur du fournisseur. Contactez l’assistance.',
    'session-changed':
      'Vous avez été déconnecté ou avez changé de compte pendant l’association de l’identité. Connectez-vous et associez-la de nouveau.',
    unavailable: 'La connexion est temporairement indisponible. Réessayez dans une minute.',
    unknown: 'La connexion a échoué. Réessayez.',
  },
  errors: {
    signInTitle: 'Connectez-vous pour continuer',
    signIn: 'Vous n’êtes pas connecté ou votre session a expiré.',
    signInAdvice: 'Après la connexion, vous reviendrez à cette page.',
    forbiddenTitle: 'Vous n’avez pas accès',
    forbidden: 'Votre compte n’est pas autorisé à ouvrir cette page.',
    forbiddenAdvice: 'Connectez-vous avec un autre compte ou demandez l’accès à votre administrateur.',
    notFoundTitle: 'Page introuvable',
    notFound: 'Aucune page n’existe à cette adresse.',
    notFoundAdvice: 'Vérifiez l’adresse. La page a peut-être été supprimée.',
    tooManyTitle: 'Trop de requêtes',
    tooMany: 'Votre réseau ou votre compte a envoyé trop de requêtes.',
    tooManyAdvice: 'Patientez une minute, puis réessayez.',
    invalidTitle: 'Échec de la requête',
    invalid: 'La requête n’était pas valide.',
    invalidAdvice: 'Revenez en arrière et réessayez. Si le problème persiste, contactez l’assistance.',
    unavailableTitle: 'Temporairement indisponible',
    unavailable: 'Le service ne peut pas répondre pour le moment.',
    unavailableAdvice: 'Réessayez dans une minute.',
    internalTitle: 'Un problème est survenu',
    internal: 'Une erreur interne s’est produite.',
    internalAdvice:
      'Réessayez. Si le problème persiste, contactez l’assistance en indiquant le numéro de référence.',
  },
  apps: {
    invalid: 'L’application qui vous a redirigé ici a envoyé une requête non valide.',
    invalidAdvice:
      'Revenez à l’application et réessayez. Si le problème persiste, contactez l’éditeur de l’application.',
    overTitle: 'Cette connexion n’est plus valide',
    over: 'Elle a pris trop de temps, est déjà terminée ou a été commencée dans un autre navigateur. Recommencez dans l’application.',
    overAdvice: 'Si vous êtes déjà connecté à l’application, vous pouvez fermer cette page.',
    uncheckedTitle: 'Vous n’avez pas été connecté',
    unchecked: '{app} a demandé une connexion qui n’a pas eu lieu.',
    uncheckedAdvice:
      'Cette application n’a pas été vérifiée : elle s’est enregistrée elle-même et vous ne lui avez accordé aucun accès. Continuez uniquement si vous faites confiance à {host}. Sinon, fermez cette page.',
  },
  consent: {
    title: 'Autoriser l’accès de {app} ?',
    wants: '{app} souhaite :',
    apis: 'API : {apis}',
    destination: 'Vous serez redirigé vers {host}.',
    identity: 'L’application s’identifie comme {host}.',
    caution:
      'N’autorisez l’accès que si vous faites confiance à cette application. Vous pourrez le retirer plus tard dans votre compte.',
    useScope: 'Utiliser {scope}',
  },
  scopes: {
    openid: 'Vous reconnaître grâce à un identifiant',
    profile: 'Voir votre nom, votre photo et d’autres données de votre profil',
    email: 'Voir votre adresse e-mail',
    groups: 'Voir les groupes dont vous faites partie',
    offline_access: 'Conserver l’accès après votre déconnexion',
  },
  device: {
    title: 'Connecter un appareil',
    enterCode: 'Saisissez le code affiché sur votre appareil.',
    code: 'Code',
    unknownCode:
      'Ce code est incorrect, a déjà été utilisé ou a expiré. Vérifiez le code sur votre appareil.',
    confirmTitle: 'Connecter cet appareil ?',
    wants: '{app} sur un appareil souhaite :',
    device: 'Appareil',
    unknownDevice: 'Appareil inconnu',
    browserOn: '{browser} sur {system}',
    someBrowserOn: 'Navigateur sur {system}',
    address: 'Adresse IP',
    unknownAddress: 'Inconnue',
    otherAddress: '{address} (différente de celle de ce navigateur)',
    stays:
      'L’appareil reste connecté même si vous vous déconnectez ici. Vous pourrez y mettre fin plus tard dans votre compte.',
    cautionTitle: 'Quelqu’un vous a envoyé ce lien ou ce code ?',
    caution:
      'Dans ce cas, choisissez « Refuser ». Sinon, cette personne serait connectée à votre compte. Personne n’en a besoin pour vous aider.',
    started: 'J’ai lancé cette connexion moi-même et mon appareil affiche {code}.',
    notCompared: 'Comparez d’abord les codes, puis cochez la case.',
    doneTitle: 'Votre appareil est connecté',
    done: 'Revenez à votre appareil. Vous pouvez fermer cette page.',
    deniedTitle: 'Connexion refusée',
    denied: 'L’appareil n’est pas connecté. Vous pouvez fermer cette page.',
  },
  signOut: {
    title: 'Se déconnecter ?',
    consequence: 'Vous serez déconnecté ici et des applications que vous utilisez dans ce navigateur.',
    requestedBy: 'Demande de {app}.',
    confirm: 'Se déconnecter',
    stay: 'Rester connecté',
    doneTitle: 'Vous êtes déconnecté',
    done: 'Votre session dans ce navigateur est terminée.',
    again: 'Se reconnecter',
    rejectedTitle: 'Vous êtes toujours connecté',
    rejected: 'L’application a envoyé une demande de déconnexion non valide.',
    rejectedAdvice: 'Rien n’a changé. Vous pouvez vous déconnecter sur la page de connexion.',
    signInPage: 'Accéder à la page de connexion',
  },
  guarded: {
    formTitle: 'Vous êtes déconnecté',
    form: 'Le formulaire n’a pas été envoyé et rien n’a été enregistré.',
    formAdvice:
      'Pour conserver votre saisie, connectez-vous dans un nouvel onglet. Revenez ensuite à cet onglet, actualisez-le et confirmez le renvoi du formulaire.',
    formSignIn: 'Se connecter dans un nouvel onglet',
    forbiddenTitle: 'Vous n’avez pas accès',
    forbidden: 'Ce compte n’est pas autorisé à ouvrir cette page.',
    account: 'Votre compte',
    refusedTitle: 'La connexion n’a pas abouti',
    refused:
      'Elle a pris trop de temps, est déjà terminée ou a été commencée dans un autre navigateur. Les cookies doivent être activés pour ce site.',
  },
}

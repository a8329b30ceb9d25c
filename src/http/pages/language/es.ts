import type { Words } from './en.ts'

export const es: Words = {
  common: {
    continue: 'Continuar',
    continueTo: 'Continuar a {name}',
    backTo: 'Volver a {name}',
    tryAgain: 'Reintentar',
    signedInAs: 'Sesión iniciada como {name}.',
    goToDashboard: 'Ir al panel',
    allow: 'Permitir',
    deny: 'Denegar',
    oneMoment: 'Un momento',
    referenceId: 'Número de referencia: {id}',
    contactSupport: 'Contactar con asistencia',
    needsScript: 'Esta página necesita JavaScript.',
  },
  footer: { terms: 'Términos', privacy: 'Privacidad', support: 'Asistencia' },
  signIn: {
    title: 'Iniciar sesión',
    toContinueTo: 'Para continuar a {app}',
    providers: 'Formas de iniciar sesión',
    continueWith: 'Continuar con {provider}',
    lastUsed: 'Usado la última vez',
    noProvider: 'El inicio de sesión aún no está configurado.',
    againTitle: 'Volver a iniciar sesión',
    again: 'Vuelve a iniciar sesión para confirmar tu identidad.',
    chooseTitle: 'Elegir una cuenta',
    choose: 'Elige el proveedor de la cuenta que quieres usar.',
    invitedTitle: 'Aceptar la invitación',
    invited: 'Tienes una invitación a {service}.',
    invitedBy: '{name} te ha invitado a {service}.',
    invitedAddress: 'Usa una cuenta cuya dirección de correo electrónico verificada sea {email}.',
    invitedSignedIn:
      'La invitación es para una cuenta nueva. Para usarla, cierra la sesión o elige otra cuenta.',
    doneTitle: 'Has iniciado sesión',
    done: 'Puedes cerrar esta página.',
    otherAccount: 'O usar otra cuenta',
    signOut: 'Cerrar sesión',
    thisAccount: 'esta cuenta',
    thatProvider: 'ese proveedor',
    twoAccounts: 'Tienes dos cuentas: {account} y otra en la que inicias sesión con {provider}.',
    useOther: 'Para usar la otra cuenta, cierra sesión y continúa con {provider}.',
    moveProvider:
      'Para pasar {provider} a {account}, inicia sesión en la otra cuenta, vincula a ella otra identidad y desvincula {provider}. Después, vuelve aquí y vincúlalo.',
    signedInBefore: 'Ya iniciaste sesión antes con {providers}',
    sameAddress:
      'Aquí ya hay una cuenta con {address}. Inicia sesión en ella para añadir {provider}. Si no es tuya, continúa como usuario nuevo.',
    linkWith: 'Iniciar sesión con {provider} y vincular',
    newUser: 'Continuar como usuario nuevo',
  },
  failures: {
    'sign-in-expired':
      'Este inicio de sesión duró más de diez minutos, ya se completó o se inició en otro navegador. Vuelve a intentarlo.',
    'access-denied': 'Se canceló el inicio de sesión en el proveedor.',
    'provider-refused':
      'El proveedor rechazó el inicio de sesión. Vuelve a intentarlo. Si el problema continúa, ponte en contacto con el equipo de asistencia.',
    'provider-unavailable': 'El proveedor no responde. Vuelve a intentarlo dentro de un minuto.',
    'provider-answer-invalid':
      'No se pudo verificar la respuesta del proveedor. Vuelve a intentarlo. Si el problema continúa, ponte en contacto con el equipo de asistencia.',
    'account-not-admitted':
      'No se puede iniciar sesión aquí con esta cuenta. Usa una cuenta de tu organización con una dirección de correo electrónico verificada.',
    'not-invited':
      'Para crear una cuenta necesitas una invitación. Pídela a tu administrador y abre después su enlace.',
    'invitation-invalid':
      'Esta invitación ya no es válida: se usó, se revocó o caducó. Pide una nueva. Si ya tienes una cuenta, inicia sesión sin ella.',
    'invitation-mismatch':
      'Esta invitación es para otra dirección de correo electrónico, o el proveedor no confirmó la tuya. Usa la cuenta que tiene la dirección de la invitación.',
    'account-blocked': 'Tu cuenta está bloqueada. Ponte en contacto con el equipo de asistencia.',
    refused: 'No puedes iniciar sesión aquí.',
    'hook-failed':
      'No se pudo completar el inicio de sesión. Vuelve a intentarlo. Si el problema continúa, ponte en contacto con el equipo de asistencia.',
    'identity-taken': 'Esta identidad pertenece a otra cuenta, por lo que no se vinculó.',
    'account-exists':
      'Ya iniciaste sesión antes con otro proveedor. Inicia sesión con él y vincula allí esta identidad, o continúa como usuario nuevo.',
    'other-account':
      'La cuenta con la que acabas de iniciar sesión no usa esta dirección, por lo que no se vinculó nada. Inicia sesión con la cuenta que usaste antes o continúa como usuario nuevo.',
    'reauthentication-needed':
      'Vuelve a iniciar sesión. Las identidades solo se pueden vincular y desvincular poco después de iniciar sesión. Después, repite la operación.',
    'reauthentication-unproven':
      'El proveedor no confirmó que acabas de iniciar sesión en él. Cierra sesión allí y vuelve a intentarlo. Si el problema continúa, ponte en contacto con el equipo de asistencia.',
    'issuer-changed':
      'Esta cuenta pertenece a otro servidor del proveedor. Ponte en contacto con el equipo de asistencia.',
    'session-changed':
      'Se cerró la sesión o se cambió de cuenta mientras se vinculaba la identidad. Inicia sesión y vincúlala de nuevo.',
    unavailable:
      'El inicio de sesión no está disponible temporalmente. Vuelve a intentarlo dentro de un minuto.',
    unknown: 'No se pudo iniciar sesión. Vuelve a intentarlo.',
  },
  errors: {
    signInTitle: 'Inicia sesión para continuar',
    signIn: 'No has iniciado sesión o la sesión ha caducado.',
    signInAdvice: 'Después de iniciar sesión, volverás a esta página.',
    forbiddenTitle: 'No tienes acceso',
    forbidden: 'Tu cuenta no tiene permiso para abrir esta página.',
    forbiddenAdvice: 'Inicia sesión con otra cuenta o pide acceso a tu administrador.',
    notFoundTitle: 'Página no encontrada',
    notFound: 'No hay ninguna página en esta dirección.',
    notFoundAdvice: 'Comprueba la dirección. Es posible que la página se haya eliminado.',
    tooManyTitle: 'Demasiadas solicitudes',
    tooMany: 'Se recibieron demasiadas solicitudes de tu red o de tu cuenta.',
    tooManyAdvice: 'Espera un minuto y vuelve a intentarlo.',
    invalidTitle: 'No se pudo completar la solicitud',
    invalid: 'La solicitud no era válida.',
    invalidAdvice:
      'Vuelve atrás e inténtalo de nuevo. Si el problema continúa, ponte en contacto con el equipo de asistencia.',
    unavailableTitle: 'No disponible temporalmente',
    unavailable: 'El servicio no puede responder en este momento.',
    unavailableAdvice: 'Vuelve a intentarlo dentro de un minuto.',
    internalTitle: 'Se produjo un problema',
    internal: 'Se produjo un error interno.',
    internalAdvice:
      'Vuelve a intentarlo. Si el problema continúa, ponte en contacto con el equipo de asistencia e indica el número de referencia.',
  },
  apps: {
    invalid: 'La aplicación que te ha traído aquí envió una solicitud no válida.',
    invalidAdvice:
      'Vuelve a la aplicación e inténtalo de nuevo. Si el problema continúa, ponte en contacto con los responsables de la aplicación.',
    overTitle: 'Este inicio de sesión ya no es válido',
    over: 'Tardó demasiado, ya se completó o se inició en otro navegador. Empieza de nuevo en la aplicación.',
    overAdvice: 'Si ya has iniciado sesión en la aplicación, puedes cerrar esta página.',
    uncheckedTitle: 'No se inició sesión',
    unchecked: '{app} solicitó un inicio de sesión que no se realizó.',
    uncheckedAdvice:
      'Esta aplicación no se ha revisado: se registró por su cuenta y no le has concedido acceso. Continúa solo si confías en {host}. De lo contrario, cierra esta página.',
  },
  consent: {
    title: '¿Permitir el acceso de {app}?',
    wants: '{app} quiere:',
    apis: 'API: {apis}',
    destination: 'Continuarás a {host}.',
    identity: 'La aplicación se identifica como {host}.',
    caution:
      'Permite el acceso solo si confías en esta aplicación. Podrás retirarlo más adelante en tu cuenta.',
    useScope: 'Usar {scope}',
  },
  scopes: {
    openid: 'Reconocer tu cuenta mediante un identificador',
    profile: 'Ver tu nombre, tu foto y otros datos de tu perfil',
    email: 'Ver tu dirección de correo electrónico',
    groups: 'Ver los grupos a los que perteneces',
    offline_access: 'Mantener la conexión después de que cierres sesión aquí',
  },
  device: {
    title: 'Iniciar sesión en un dispositivo',
    enterCode: 'Introduce el código que muestra tu dispositivo.',
    code: 'Código',
    unknownCode: 'Este código es incorrecto, ya se usó o ha caducado. Comprueba el código en tu dispositivo.',
    confirmTitle: '¿Iniciar sesión en este dispositivo?',
    wants: '{app} en un dispositivo quiere:',
    device: 'Dispositivo',
    unknownDevice: 'Dispositivo desconocido',
    browserOn: '{browser} en {system}',
    someBrowserOn: 'Navegador en {system}',
    address: 'Dirección IP',
    unknownAddress: 'Desconocida',
    otherAddress: '{address} (no es la dirección de este navegador)',
    stays:
      'La sesión del dispositivo sigue abierta después de cerrarla aquí. Podrás cerrarla más adelante en tu cuenta.',
    cautionTitle: '¿Alguien te ha enviado este enlace o código?',
    caution:
      'En ese caso, elige «Denegar». De lo contrario, esa persona tendría la sesión iniciada con tu cuenta. Nadie necesita esto para ayudarte.',
    started: 'He iniciado este proceso y mi dispositivo muestra {code}.',
    notCompared: 'Compara primero los códigos y, después, marca la casilla.',
    doneTitle: 'Sesión iniciada en el dispositivo',
    done: 'Vuelve a tu dispositivo. Puedes cerrar esta página.',
    deniedTitle: 'Inicio de sesión denegado',
    denied: 'No se ha iniciado sesión en el dispositivo. Puedes cerrar esta página.',
  },
  signOut: {
    title: '¿Cerrar sesión?',
    consequence: 'Se cerrará la sesión aquí y en las aplicaciones que usas en este navegador.',
    requestedBy: 'Solicitado por {app}.',
    confirm: 'Cerrar sesión',
    stay: 'Mantener la sesión iniciada',
    doneTitle: 'Sesión cerrada',
    done: 'Tu sesión en este navegador ha terminado.',
    again: 'Volver a iniciar sesión',
    rejectedTitle: 'La sesión sigue iniciada',
    rejected: 'La aplicación envió una solicitud de cierre de sesión no válida.',
    rejectedAdvice: 'No se ha cambiado nada. Puedes cerrar sesión en la página de inicio de sesión.',
    signInPage: 'Ir a la página de inicio de sesión',
  },
  guarded: {
    formTitle: 'Sesión cerrada',
    form: 'El formulario no se envió y no se guardó nada.',
    formAdvice:
      'Para conservar lo que has escrito, inicia sesión en una pestaña nueva. Después, vuelve a esta pestaña, actualízala y confirma el reenvío del formulario.',
    formSignIn: 'Iniciar sesión en una pestaña nueva',
    forbiddenTitle: 'No tienes acceso',
    forbidden: 'Esta cuenta no tiene permiso para abrir esta página.',
    account: 'Tu cuenta',
    refusedTitle: 'No se completó el inicio de sesión',
    refused:
      'Tardó demasiado, ya se completó o se inició en otro navegador. Las cookies deben estar habilitadas para este sitio.',
  },
}

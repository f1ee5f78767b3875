/// Everything a sandbox is told at its start.
struct SandboxConfiguration: Sendable {
    var host: String
    /// 0 takes any free port.
    var port: Int
    var dataPath: String
    var accounts: [Account]
    /// nil when users authenticate by Basic.
    var logins: LoginSettings?
    var dialect: Dialect
    var faults: [Fault]
    /// Largest request body in bytes; Apache's limit (gighive contract 2.6).
    var maxBody: Int
    /// Seconds for which a body may stop coming; nil is for ever.
    var bodyTimeout: Double?
    /// Seconds between look-up and insert of an upload; nil keeps uploads from colliding.
    var raceWindow: Double?
    var tus: TusSettings
    var finalize: FinalizeSettings
    var eventLinks: [EventLinkRequest]
    var photoSync: PhotoSyncSettings
    var captures: CaptureSettings
}

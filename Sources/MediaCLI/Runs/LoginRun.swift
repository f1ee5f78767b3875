internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaTransport
internal import PhotoSync

/// Makes this machine a device of a photo server, and keeps the key.
struct LoginRun: Sendable {
    let session: SyncSession
    let deviceName: String
    let isDryRun: Bool

    private var console: Console { session.console }
    private var server: String { session.address }

    // MARK: With an issued key

    /// Proves the key, registers this machine, and keeps both.
    ///
    /// - Throws: `CredentialError`, `PhotoSyncError`, `TransportError`.
    func run(_ flags: CredentialFlags) async throws -> ExitCode {
        let server = server
        let key = try await session.search(flags) { try await $0.keyToKeep(for: server) }
        let client = try session.client(key: key)
        guard !isDryRun else {
            let status = try await console.context.interruption.cancelling { try await client.status(device: nil) }
            console.text([
                "the key is valid: its user has \(Formats.count(status.totalPhotos, "photo")) at "
                    + "\(ErrorCatalogue.clean(server)), and this machine would be the device \(ErrorCatalogue.quoted(deviceName))"
            ])
            return finish(nil, isKeyRotated: false)
        }
        let registration = DeviceRegistration(client: client, library: session.library, deviceName: deviceName)
        let login = try await console.context.interruption.cancelling { try await registration.logIn(apiKey: key) }
        return finish(login, isKeyRotated: false)
    }

    // MARK: By e-mail

    /// Logs in by e-mail address and password, which gives the user a new key: asks first.
    ///
    /// - Throws: `Diagnosis` when nobody can be asked; `CredentialError`, `PhotoSyncError`, `TransportError`.
    func run(_ email: String, _ flags: CredentialFlags, _ confirmation: Confirmation) async throws -> ExitCode {
        let warning =
            "This gives \(ErrorCatalogue.clean(email)) a new API key at \(ErrorCatalogue.clean(server)): every phone and "
            + "program of this user loses its key, and must log in again."
        let question = "Log in anyway?"
        guard !isDryRun else {
            console.text([warning])
            return finish(nil, isKeyRotated: false)
        }
        guard try await confirmation.ask([warning], question, on: console) else {
            console.text(["not logged in"])
            return finish(nil, isKeyRotated: false, code: .failure)
        }
        let server = server
        let password = try await session.search(flags) { try await $0.password(for: email, at: server) }
        let registration = DeviceRegistration(
            client: try session.client(key: nil),
            library: session.library,
            deviceName: deviceName
        )
        // Torn, it would leave the user without any key.
        let finishTimeout = session.settings.settings.finishTimeout.value
        let login = try await console.context.interruption.handling({
            console.outlast($0, for: "the new key", finishTimeout: finishTimeout)
        }) {
            do throws(PhotoSyncError) {
                return try await registration.logIn(email: email, password: password)
            } catch {
                warn(of: error)
                throw error
            }
        }
        return finish(login, isKeyRotated: true)
    }

    /// The key may be new although the login has failed: what came after it did not work, or the answer with it was lost.
    private func warn(of error: PhotoSyncError) {
        if let key = try? session.library.login(for: server)?.apiKey, key != session.login?.apiKey {
            console.warning(
                "the new API key is stored, but this machine is not registered yet: run mediactl login again"
            )
        } else if error.mayHaveRotatedKey {
            console.warning(
                "the server may have issued a new API key that was lost; run mediactl login again"
            )
        }
    }

    // MARK: The end

    private func finish(_ login: Login?, isKeyRotated: Bool, code: ExitCode = .success) -> ExitCode {
        let code = console.exitCode(code)
        if let login {
            let name = login.deviceName ?? deviceName
            console.text([
                "\(console.outputStyle.green("logged in")) to \(ErrorCatalogue.clean(login.server)) as "
                    + "\(ErrorCatalogue.quoted(name))"
            ])
            if isKeyRotated {
                console.warning("other phones and programs of this user must log in again")
            }
            console.note(
                "next: mediactl sync"
                    + (session.settings.flags.server.map { " --server \(TerminalText.escaped($0))" } ?? "")
            )
        }
        console.summary([
            "server": .string(server), "dry_run": .bool(isDryRun), "logged_in": .bool(login != nil),
            "device_id": JSONValue(login?.deviceID), "device_name": JSONValue(login?.deviceName),
            "email": JSONValue(login?.email), "key_rotated": .bool(isKeyRotated), "scheme": "api_key", "role": .null,
            "expires_at": .null,
            "exit_code": JSONRenderer.exitCode(code),
        ])
        return code
    }
}

extension PhotoSyncError {
    /// Whether a login that failed with this may have been obeyed: it was sent, and the server did not refuse it.
    fileprivate var mayHaveRotatedKey: Bool {
        switch code {
        case .transport: transport?.metrics.bodyComplete ?? true
        case .serverError, .unexpectedAnswer, .cancelled: true
        default: false
        }
    }
}

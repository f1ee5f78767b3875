internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaCore
internal import MediaStore
internal import MediaTransport

/// Registers this machine, and says at which level.
struct RegistrationRun: Sendable {
    let settings: SettingsSession
    let plan: DeviceEnrolment.Plan
    /// A device that is enrolled already.
    let deviceID: String?

    private var console: Console { settings.console }
    private var profile: CaptureProfile { settings.settings.captureProfile.value }

    /// Says what would be done.
    ///
    /// - Returns: Success.
    /// - Throws: `Diagnosis`, `StoreError`, `CaptureError` for what `run` would refuse as well.
    func preview() async throws -> ExitCode {
        guard let server = try settings.configuredCaptureServer else { throw settings.noServer }
        let earlier = try await settings.withReadOnlyCaptures { try $0.library.captureDevice(for: server.description) }
        if let earlier, !plan.replacesEarlier {
            throw CaptureError(.alreadyRegistered, detail: "as device \(earlier.deviceID)")
        }
        let level = plan.evidence == nil ? "software" : "tpm2"
        console.text([
            "this machine would be registered at \(ErrorCatalogue.clean(server.description)) as "
                + "\(ErrorCatalogue.quoted(plan.model)), with \(words(for: plan.key))"
                + (deviceID == nil ? ", at the level \(level)" : ", as the device it is enrolled as")
        ])
        console.summary(summary(nil, server.description, expected: deviceID == nil ? level : nil))
        return .success
    }

    /// Registers.
    ///
    /// - Returns: Success.
    /// - Throws: `Diagnosis`, `StoreError`, `TransportError`, `CaptureError`.
    func run() async throws -> ExitCode {
        guard let server = try settings.configuredCaptureServer else { throw settings.noServer }
        try console.requireOutput()
        let stage = try CaptureStage.open(settings)
        let session = try stage.confidential(try stage.session())
        try await stage.adopt()
        let enrolment = DeviceEnrolment(session)
        let (plan, deviceID) = (plan, deviceID)
        // A server that has registered the device and a machine that does not know it would be the end of a torn request.
        let finishTimeout = settings.settings.finishTimeout.value
        let work = Task {
            if let deviceID { return try await enrolment.keep(deviceID: deviceID, plan) }
            return try await enrolment.register(plan)
        }
        let device = try await console.context.interruption.handling({ [console] request in
            if request.isFinal {
                work.cancel()
            } else {
                console.outlast(request, for: "the server's answer", finishTimeout: finishTimeout)
            }
        }) { try await work.value }
        console.text([
            "registered this machine at \(ErrorCatalogue.clean(server.description)) as "
                + "\(ErrorCatalogue.clean(device.deviceID)) (level \(ErrorCatalogue.clean(device.level)))"
        ])
        explain(device)
        console.summary(summary(device, server.description, expected: device.level))
        return console.exitCode(.success)
    }

    /// What the level is worth.
    private func explain(_ device: CaptureDeviceRecord) {
        switch KeyLevel(rawValue: device.level) {
        case .software:
            console.note("nothing proves where this key lies: whoever copies it can sign as this machine")
        case .tpm2: console.note("the server was shown that the key cannot leave this machine's TPM")
        case .enrolledElsewhere: console.note("the server knows the level of this device; nothing was asked or sent")
        case nil: break
        }
        if case .file(let name) = device.keySource, !name.contains("/") {
            console.note("the key lies in the data directory, readable by you alone; keep a copy where you keep keys")
        }
    }

    private func words(for key: DeviceEnrolment.Key) -> String {
        switch key {
        case .new: "a new key in a file"
        case .existing(.file(let path)): "the key in \(ErrorCatalogue.quoted(path))"
        case .existing(.provider(let uri, let provider)):
            "the key \(ErrorCatalogue.quoted(uri)) of the provider \(ErrorCatalogue.quoted(provider))"
        case .existing(.command(let words)): "the key of the program \(ErrorCatalogue.quoted(words.first ?? ""))"
        }
    }

    private func summary(_ device: CaptureDeviceRecord?, _ server: String, expected level: String?) -> JSONObject {
        let source =
            switch plan.key {
            case .new: "new"
            case .existing(.file): "file"
            case .existing(.provider): "provider"
            case .existing(.command): "command"
            }
        return [
            "server": .string(server), "profile": .string(profile.rawValue), "rp_id": .string(plan.rpID),
            "model": .string(plan.model), "key": .string(source), "dry_run": .bool(device == nil),
            "device_id": JSONValue(device?.deviceID ?? deviceID), "level": JSONValue(level),
            "public_key": JSONValue(device.map { Data($0.publicKey).base64EncodedString() }), "exit_code": 0,
        ]
    }
}

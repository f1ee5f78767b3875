import Foundation
import MediaCrypto
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import CaptureSubmission
@testable import HashCapture

@Suite struct DeviceEnrollmentTests {
    @Test func aNewKeyIsPrivateAndStored() async throws {
        let bench = try await CaptureBench()
        let device = try await bench.register()
        let name = try #require(device.keySource.fileName)
        let path = bench.directory.path + "/capture-keys/" + name
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let pem = try #require(FileManager.default.contents(atPath: path))
        #expect(try SigningKey.read(pem: Array(pem)).publicKey.sec1 == device.publicKey)
        #expect(try bench.library.captureDevice(for: device.server) == device)
        let there = try #require(try await bench.sandbox?.captureDevices().first { $0.id == device.deviceID })
        #expect(
            there.platform == "linux" && there.level == "software"
                && there.publicKey == Data(device.publicKey).base64EncodedString()
        )

        let error = await #expect(throws: CaptureError.self) { try await bench.register() }
        #expect(error?.code == .alreadyRegistered)
        var plan = CaptureBench.plan
        plan.replacesEarlier = true
        let second = try await bench.register(plan)
        #expect(second.keySource != device.keySource && second.deviceID != device.deviceID)
        // The file of the earlier key is deleted.
        #expect(!FileManager.default.fileExists(atPath: path))
        let keys = try FileManager.default.contentsOfDirectory(atPath: bench.directory.path + "/capture-keys")
        #expect(keys == [try #require(second.keySource.fileName)])
    }

    @Test func parallelRegistrationsRegisterOneDevice() async throws {
        let bench = try await CaptureBench()
        let codes = await withTaskGroup(of: OutcomeCode?.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    do {
                        try await bench.register()
                        return nil
                    } catch {
                        return (error as? CaptureError)?.code ?? .internalError
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes.count { $0 == nil } == 1)
        #expect(codes.count { $0 == .alreadyRegistered } == 7)
        #expect(try await bench.sandbox?.captureDevices().count == 1)
        let keys = try FileManager.default.contentsOfDirectory(atPath: bench.directory.path + "/capture-keys")
        #expect(keys.count == 1)
    }

    @Test func aReplacedKeyOfAnotherRegistrationIsKept() async throws {
        let bench = try await CaptureBench()
        var device = try await bench.register()
        let name = try #require(device.keySource.fileName)
        device.server = "https://other.test"
        try bench.library.keep(device)
        var plan = CaptureBench.plan
        plan.replacesEarlier = true
        try await bench.register(plan)
        #expect(FileManager.default.fileExists(atPath: bench.directory.path + "/capture-keys/" + name))
    }

    @Test func aReplacedKeyOfTheUserIsKept() async throws {
        let bench = try await CaptureBench()
        let path = try bench.machine.write("mine.pem", try SigningKey.generate().pem())
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        var plan = CaptureBench.plan
        plan.key = .existing(.file(path))
        try await bench.register(plan)
        plan = CaptureBench.plan
        plan.replacesEarlier = true
        try await bench.register(plan)
        #expect(FileManager.default.fileExists(atPath: path))
    }

    /// The server rejects the registration, before and after it has the key: no new key is left, and an earlier one
    /// is kept.
    @Test(arguments: ["challenge:status=429,times=1", "register:status=403,times=1"])
    func theKeyOfAFailedRegistrationIsRemoved(_ fault: String) async throws {
        let bench = try await CaptureBench(["--fault", fault])
        let keys = bench.directory.path + "/capture-keys"
        await #expect(throws: CaptureError.self) { try await bench.register() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: keys).isEmpty)
        let device = try await bench.register()
        let name = try #require(device.keySource.fileName)
        let path = try bench.machine.write("other.pem", "no key".utf8)
        var plan = CaptureBench.plan
        plan.replacesEarlier = true
        plan.key = .existing(.file(path))
        let other = plan
        await #expect(throws: CaptureError.self) { try await bench.register(other) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: keys) == [name])
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test func theKeyIsSyncedBeforeItIsSent() async throws {
        let bench = try await CaptureBench(["--fault", "register:drop-response,times=1"])
        await #expect(throws: CaptureError.self) { try await bench.register() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.directory.path + "/capture-keys").count == 1)
        #expect(try bench.library.captureDevice(for: bench.session.client.server.description) == nil)
        // A key whose registration is uncertain is not reused.
        let device = try await bench.register()
        let name = try #require(device.keySource.fileName)
        #expect(name.hasSuffix("-2.pem"))
        #expect(try await bench.session.capture(try bench.request()).record.state == .accepted)
    }

    @Test func aKeyReadableByOthersIsNotUsed() async throws {
        let bench = try await CaptureBench()
        let device = try await bench.register()
        let name = try #require(device.keySource.fileName)
        let path = bench.directory.path + "/capture-keys/" + name
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.error?.code == .keyUnusable && outcome.record.state == .pending)
    }

    @Test func aKeyThatDiffersFromTheRegisteredOneIsNotUsed() async throws {
        let bench = try await CaptureBench()
        var device = try await bench.register()
        device.keySource = .file(try DeviceKey(directory: bench.directory).make(for: "https://other.test").name)
        try bench.library.keep(device)
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.error?.code == .keyUnusable)
        #expect(try await bench.submissions() == 0)
    }

    @Test func noLinuxDeviceIsEnrolledWithTheReferenceServer() async throws {
        let bench = try await CaptureBench(profile: .reference)
        let error = await #expect(throws: CaptureError.self) { try await bench.register() }
        #expect(error?.code == .enrolmentImpossible)
        // No key is created, and nothing is sent.
        #expect(!FileManager.default.fileExists(atPath: bench.directory.path + "/capture-keys"))
        #expect(try await bench.sandbox?.requests().isEmpty == true)
        let kept = await #expect(throws: CaptureError.self) {
            try await DeviceEnrollment(bench.session).keep(deviceID: UUID().uuidString, CaptureBench.plan)
        }
        #expect(kept?.code == .keyUnusable)
    }

    /// Levels that a server may report without attestation.
    @Test(arguments: ["secure_enclave", "tee", "strongbox", "tpm2", "unverified", "enrolled_elsewhere", ""])
    func aLevelAboveTheAttestedOneIsRefused(_ level: String) async throws {
        let server = try ScriptedServer { connection, _ in
            while true {
                let (head, _) = try connection.readRequest()
                let challenge = Data(repeating: 7, count: 32).base64EncodedString()
                if head.hasPrefix("GET") {
                    try connection.respond(
                        200,
                        #"{"data":{"challenge":"\#(challenge)","expires_at":"2026-01-01T00:00:00Z"}}"#
                    )
                } else {
                    let id = UUID().uuidString.lowercased()
                    try connection.respond(
                        201,
                        #"{"data":{"device_id":"\#(id)","attestation_level":"\#(level)","has_lidar":false}}"#
                    )
                }
            }
        }
        let bench = try CaptureBench(address: server.address)
        let error = await #expect(throws: CaptureError.self) { try await bench.register() }
        #expect(error?.code == .unexpectedResponse || error?.code == .unknownOutcome)
        #expect(try bench.library.captureDevice(for: server.address) == nil)
    }

    /// A certification without activation is not an attestation, and a server must not accept it as one; a key in a
    /// file is not in a TPM.
    @Test func evidenceWithoutActivationIsNotAttestation() async throws {
        let evidence = TPM2Evidence(
            keyPublicArea: [1],
            attestationKeyPublicArea: [2],
            certification: [3],
            certificationSignature: [4],
            endorsementCertificates: [[5]]
        )
        let bench = try await CaptureBench()
        let response = RegistrationResponse(deviceID: UUID().uuidString.lowercased(), attestationLevel: "tpm2")
        let enrollment = DeviceEnrollment(bench.session)
        #expect(throws: CaptureError.self) { try enrollment.level(response, evidence) }
        var proven = evidence
        proven.activation = TPM2Activation(secret: [6], quote: [7], quoteSignature: [8])
        #expect(try enrollment.level(response, proven) == .tpm2)
        var plan = CaptureBench.plan
        plan.evidence = evidence
        for key in [DeviceEnrollment.Key.new, .existing(.file("key.pem"))] {
            plan.key = key
            let refused = plan
            let error = await #expect(throws: CaptureError.self) { try await bench.register(refused) }
            #expect(error?.code == .keyUnusable)
        }
        #expect(try await bench.sandbox?.requests().isEmpty == true)
    }

    @Test(arguments: [
        ("https://capture.example.org", "capture.example.org"),
        ("https://capture.example.org:8443/a/b", "capture.example.org_8443a_b"),
        ("https://[::1]:80", "_1_80"),
    ])
    func aKeyIsNamedAfterItsServer(_ server: String, _ stem: String) {
        let made = DeviceKey.stem(of: server)
        #expect(!made.contains("/") && !made.hasPrefix(".") && !made.isEmpty)
        if server.hasSuffix(".org") { #expect(made == stem) }
    }
}

@Suite struct ProgramSignerTests {
    /// A machine that uses the openssl program to sign: digest as input, DER as output, in base64.
    @Test(arguments: ["base64 -w0", "basenc --base16 -w0"])
    func aProgramCreatesSignatures(_ encoding: String) async throws {
        let bench = try await CaptureBench()
        let key = bench.machine.file("key.pem")
        let generate = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out \(key)"
        let result = try await ChildProcess(
            "/bin/sh",
            ["-c", generate + " && openssl pkey -in \(key) -pubout -out \(key).pub"]
        )
        .finish()
        try #require(result.status == 0)
        let pem = try #require(FileManager.default.contents(atPath: key + ".pub"))
        let publicKey = try #require(VerifyingKey.reading(Array(pem)))
        let script = "tr a-f A-F | basenc -d --base16 -i | openssl pkeyutl -sign -inkey \(key) | \(encoding)"
        var plan = CaptureBench.plan
        plan.key = .existing(.command(["/bin/sh", "-c", script]))
        let incomplete = plan
        let missing = await #expect(throws: CaptureError.self) { try await bench.register(incomplete) }
        #expect(missing?.code == .keyUnusable)
        plan.publicKey = publicKey
        try await bench.register(plan)
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == .accepted && outcome.record.publicKey == publicKey.sec1)
    }

    @Test(arguments: [
        ["/bin/echo", "AAAA"], ["/bin/false"], ["/nowhere/signer"], ["/bin/echo", String(repeating: "11", count: 64)],
    ])
    func anInvalidSignatureIsNotUsed(_ program: [String]) async throws {
        let signer = ProgramSigner(publicKey: try SigningKey.generate().publicKey, arguments: program)
        let error = await #expect(throws: CaptureError.self) { try await signer.sign([1, 2, 3]) }
        #expect(error?.code == .signingFailed)
    }

    @Test func aProgramThatHangsIsTerminated() async throws {
        let key = try SigningKey.generate().publicKey
        let signer = ProgramSigner(publicKey: key, arguments: ["/bin/sleep", "600"], timeLimit: .milliseconds(20))
        let error = await #expect(throws: CaptureError.self) { try await signer.sign([1, 2, 3]) }
        #expect(error?.code == .signingFailed && error?.detail.contains("did not finish within") == true)
    }

    @Test func aStopTerminatesAProgram() async throws {
        let control = TransferControl()
        let key = try SigningKey.generate()
        let program = ProgramSigner(publicKey: key.publicKey, arguments: ["/bin/sleep", "600"])
        let signer = StoppableSigner(signer: program, control: control)
        let work = Task { try await signer.sign([1, 2, 3]) }
        control.stop()
        let error = await #expect(throws: CaptureError.self) { try await work.value }
        #expect(error?.code == .cancelled)
        // No further signatures are created.
        let late = await #expect(throws: CaptureError.self) {
            try await StoppableSigner(signer: KeySigner(key: key, provider: nil), control: control).sign([1])
        }
        #expect(late?.code == .cancelled)
    }

    /// The forms printed by `openssl pkey -pubout`, and the bare point.
    @Test func publicKeysAreParsedInEveryForm() async throws {
        let folder = try TemporaryDirectory()
        let key = try SigningKey.generate()
        try Data(try key.pem()).write(to: URL(fileURLWithPath: folder.file("key.pem")))
        for form in ["PEM", "DER"] {
            _ = try await ChildProcess.run(
                "openssl",
                ["pkey", "-in", folder.file("key.pem"), "-pubout", "-outform", form, "-out", folder.file(form)]
            )
            let file = Array(try #require(FileManager.default.contents(atPath: folder.file(form))))
            #expect(VerifyingKey.reading(file) == key.publicKey, "\(form)")
            if form == "DER" {
                #expect(VerifyingKey.reading(file + [0]) == nil)
                #expect(VerifyingKey.reading(file.dropLast()) == nil)
            }
        }
        #expect(VerifyingKey.reading(key.publicKey.sec1) == key.publicKey)
        #expect(VerifyingKey.reading([]) == nil)
    }

    /// The forms that a program may print: DER and r‖s, in hexadecimal of either case and in base64.
    @Test func everySignatureFormIsParsed() throws {
        let raw = [UInt8](1...64)
        // SEQUENCE { INTEGER r, INTEGER s }: both start below 0x80, so nothing is padded.
        let der: [UInt8] = [0x30, 0x44, 0x02, 0x20] + raw[..<32] + [0x02, 0x20] + raw[32...]
        for bytes in [raw, der] {
            let hex = bytes.map { String(format: "%02x", $0) }.joined()
            for text in [hex, hex.uppercased(), Data(bytes).base64EncodedString(), hex + "\n"] {
                #expect(ProgramSigner.signature(in: Array(text.utf8)) == raw, "\(text)")
            }
            let lines = Data(bytes).base64EncodedString(options: .lineLength64Characters)
            #expect(ProgramSigner.signature(in: Array(lines.utf8)) == raw)
        }
        for text in ["", "zz", "abc", String(repeating: "11", count: 63), "=====", hexadecimalOf(der.dropLast())] {
            #expect(ProgramSigner.signature(in: Array(text.utf8)) == nil, "\(text)")
        }
    }

    private func hexadecimalOf(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }
}

extension CaptureDeviceRecord.KeySource {
    fileprivate var fileName: String? {
        if case .file(let name) = self { name } else { nil }
    }
}

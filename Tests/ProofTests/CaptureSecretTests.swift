import Foundation
import MediaStore
import TestSupport
import Testing

/// All output and files of the program are searched for the keys of the vault and the device, and its output also for
/// assertions.
@Suite struct CaptureSecretTests {
    @Test func noKeyAndNoAssertionIsPrinted() async throws {
        let sandbox = try await SandboxProcess.start()
        let bench = try CaptureBench(sandbox)
        let witness = Witness(bench.runner)
        func run(_ arguments: [String]) async throws {
            try await witness.run(["hash-only"] + arguments, expecting: 0)
        }
        let trace = ["-vv"]
        let json = ["--json", "-vv", "--progress-events"]
        func keys() throws -> [Data] { try Tree(bench.dataPath + "/capture-keys").files.values.map(\.content) }
        try await run(["register"] + trace)
        let replaced = try keys()
        try await run(["register", "--replace"] + json)
        for (number, options) in [trace, json].enumerated() {
            let photo = try bench.photo("\(number).jpg", seed: number)
            let copy = bench.runner.home.file("copy-\(number).jpg")
            try await run(bench.sending(photo) + ["--dry-run"] + options)
            try await run(bench.sending(photo) + options)
            try await run(["list"] + options)
            let id = try #require(try bench.records().first?.id)
            try await run(["show", id] + options)
            try await run(["verify", photo] + options)
            try await run(["export", id, "--output", copy] + options)
            try await run(["export", id, "--bundle", copy + ".json"] + options)
            for (step, fault) in ["status=500", "status=401", "html"].enumerated() {
                try await sandbox.addFaults("capture:\(fault)")
                let other = try bench.photo("other-\(number)-\(step).jpg", seed: 100 + 10 * number + step)
                let result = try await bench.runner.run(["hash-only"] + bench.sending(other) + options)
                witness.written += result.output + result.errors
                try await sandbox.clearFaults()
            }
        }
        #expect(
            witness.written.contains("trace: POST \(sandbox.baseURL)/api/v1/captures/hash-only"),
            "the run produced output"
        )

        let keyFiles = replaced + (try keys())
        #expect(Set(keyFiles).count == 2)
        var secrets: [Data] = []
        for pem in keyFiles {
            let lines = String(decoding: pem, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("-----") }
            secrets += lines.filter { $0.count > 20 }.map { Data($0.utf8) }
            // PKCS#8 of P-256: the private number follows its tag, 04 20 (RFC 5915).
            let der = try #require(Data(base64Encoded: lines.joined()))
            let start = try #require(der.range(of: Data([0x04, 0x20]))?.upperBound)
            secrets += forms(der[start..<start + 32])
        }
        let vaultKey = try #require(FileManager.default.contents(atPath: bench.vaultPath + "/vault.key"))
        let digits = String(decoding: vaultKey, as: UTF8.self).dropLast()
        secrets += forms(
            Data(stride(from: 0, to: 64, by: 2).compactMap { UInt8(digits.dropFirst($0).prefix(2), radix: 16) })
        )
        #expect(secrets.count >= 2 * 4 + 3)
        let assertions = try await bench.submissions().map { Data($0.assertion.utf8) }
        #expect(assertions.count >= 6)
        for secret in secrets + assertions {
            #expect(Data(witness.written.utf8).range(of: secret) == nil, "\(String(decoding: secret, as: UTF8.self))")
        }
        // Each key is in its own file, and nowhere else.
        for (name, file) in try Tree(bench.runner.home.path).files {
            for secret in secrets where file.content.range(of: secret) != nil {
                #expect(name.hasSuffix(".pem") || name.hasSuffix("captures/vault.key"), "\(name)")
            }
        }
        let data = try Tree(bench.dataPath)
        for (name, file) in data.files { #expect(file.mode == 0o600, "\(name)") }
        for (name, mode) in data.directories { #expect(mode == 0o700, "\(name)") }
    }

    /// Raw, in hexadecimal and in base64.
    private func forms(_ bytes: Data) -> [Data] {
        [
            Data(bytes), Data(bytes.map { String(format: "%02x", $0) }.joined().utf8),
            Data(bytes.base64EncodedString().utf8),
        ]
    }
}

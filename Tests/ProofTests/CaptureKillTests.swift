import Foundation
import MediaStore
import TestSupport
import Testing

/// `kill -9` at every step of a capture, then resuming: the server has it once, with the right hash, and the vault has
/// it completely.
@Suite struct CaptureKillTests {
    /// The points of `CaptureFailpoint` except those of a registration, in the order in which a capture reaches them.
    static let points = [
        "mediaInDraft", "recordKept", "committed", "countersTaken", "payloadSigned", "queued", "requestSigned",
        "submitted", "responseReceived", "outcomeRecorded",
    ]

    /// The command that resumes.
    enum Continuation: String, CaseIterable {
        case retryAll
        case sameCommand
    }

    @Test(arguments: Continuation.allCases) func killedCaptureIsAtTheServerOnce(_ continuation: Continuation)
        async throws
    {
        let bench = try await CaptureBench.registered()
        var photos: [String] = []
        for (number, point) in Self.points.enumerated() {
            let photo = try bench.photo(point + ".jpg", seed: number)
            photos.append(photo)
            let send = bench.sending(photo) + ["--captured-at", "2026-05-01T18:30:00Z"]
            try await bench.die(send, at: point)
            let sent = try await bench.submissions().count
            switch continuation {
            case .retryAll:
                let retry = try await bench.succeed("retry", "--all")
                // A draft without a record was never reported; a finished capture requires no action.
                #expect(
                    retry.states == (["mediaInDraft", "outcomeRecorded"].contains(point) ? [] : ["accepted"]),
                    "\(point)"
                )
                // The draft of a process that has exited is removed by the next command.
                try bench.expectWholeVault()
                if point == "mediaInDraft" { #expect(try await bench.run(send).exitCode == 0) }
            case .sameCommand:
                let again = try await bench.run(send)
                if ["submitted", "responseReceived"].contains(point) {
                    // The server may have it: `retry` queries it, and does not send it again.
                    #expect(again.exitCode == 6 && again.states == ["unknown_outcome"], "\(point): \(again.output)")
                    #expect(try await bench.submissions().count == sent)
                    try await bench.succeed("retry", "--all")
                } else {
                    #expect(again.exitCode == 0 && again.states == ["accepted"], "\(point): \(again.output)")
                }
            }
            // Hash, signature, counter, the copy in the vault, the server's response.
            let verified = try await bench.succeed("verify", photo)
            #expect(verified.records.last?["passed"] as? Int == 6, "\(point): \(verified.output)")
        }

        let hashes = try await bench.sha256(photos)
        #expect(try await bench.sandbox.captures().map(\.mediaHash) == hashes)
        try await bench.expectAscendingCounters()
        let records = try bench.records()
        #expect(records.map(\.mediaHash).sorted() == hashes.sorted() && records.allSatisfy { $0.state == .accepted })
        for record in records {
            let seen = try await bench.submissions().filter { $0.mediaHash == record.mediaHash }
            #expect(seen.count == 1, "only unsent captures are sent")
            #expect(seen.last?.counter == record.counter && seen.count <= record.submissions)
        }
        try bench.expectWholeVault()
    }

    @Test func killedRegistrationStartsOver() async throws {
        let bench = try CaptureBench(try await SandboxProcess.start())
        try await bench.die(["register"], at: "keyWritten")
        #expect(try await bench.sandbox.captureDevices().isEmpty)
        try await bench.die(["register"], at: "deviceRegistered")
        try await bench.succeed("register")
        let devices = try await bench.sandbox.captureDevices()
        #expect(devices.count == 2, "one of the devices was never reported")
        #expect(Set(devices.compactMap(\.publicKey)).count == 2, "a key belongs to a single device")
        try await bench.succeed("send", try bench.photo("a.jpg", seed: 1), "--no-depth")
        #expect(try await bench.sandbox.captures().map(\.device) == [try bench.records().first?.deviceID])
        let keys = try Tree(bench.dataPath + "/capture-keys").files
        #expect(keys.count == 3 && keys.allSatisfy { $0.key.hasSuffix(".pem") && $0.value.mode == 0o600 })
    }

    // The response was lost, and this server cannot be queried by hash: it responds 409 with the owner of the capture.
    @Test func duplicateOfOurOwnIsAccepted() async throws {
        let bench = try await CaptureBench.registered()
        let photo = try bench.photo("a.jpg", seed: 1)
        try await bench.die(bench.sending(photo), at: "responseReceived")
        try await bench.sandbox.addFaults("capture-read:status=405")
        try await bench.succeed("retry", "--all")
        try await bench.sandbox.clearFaults()
        #expect(try await bench.submissions().count == 2)
        try await bench.expectAscendingCounters()
        let record = try #require(try bench.records().first)
        #expect(record.state == .accepted && record.httpStatus == 409 && record.submissions == 2)
        #expect(try await bench.sandbox.captures().map(\.id) == [record.serverCaptureID])
        try await bench.succeed("verify", photo)

        // Another machine's capture of the same media is not ours.
        var other = try CaptureBench(bench.sandbox)
        other.runner.environment["MEDIACTL_CAPTURE_URL"] = bench.sandbox.baseURL
        try await other.succeed("register")
        let refused = try await other.run(["send", photo, "--no-depth"])
        #expect(refused.exitCode == 10 && refused.states == ["rejected"], "\(refused.output)")
        #expect(try await bench.sandbox.captures().count == 1)
    }
}

import ArgumentParser
import CaptureSubmission
import Foundation
import HashCapture
import MediaCore
import MediaCrypto
import Testing

@testable import MediaCLI

@Suite struct HashOnlyParsingTests {
    private static let hash = String(repeating: "ab", count: 32)

    @Test(arguments: [["hash-only", "a.jpg"], ["hash-only", "send", "a.jpg"], ["--json", "hash-only", "a.jpg"]])
    func filesWithoutACommandAreSent(words: [String]) throws {
        let command = try #require(try MediactlCommand.parseAsRoot(words + ["--dry-run"]) as? HashOnlySend)
        #expect(command.files == ["a.jpg"] && command.dryRun && !command.sendMedia)
    }

    @Test func sendTakesEveryFlag() throws {
        let command = try #require(
            try MediactlCommand.parseAsRoot([
                "hash-only", "send", "a.mp4", "--keyframe-depth", "1.npy", "--keyframe-depth", "2.npy", "--depth-size",
                "256x192", "--depth-scale", "0.001", "--location", "-33.8568,151.2153", "--place", "Sydney,AU",
                "--captured-at", "2026-05-01T20:30:00+02:00", "--device-model", "Leica Q2", "--media-type", "video",
                "--hash-chain", "\(Self.hash):450", "--frame-count", "450", "--duration-ms", "15000",
                "--location-level", "precise", "--timestamp-level", "day-only", "--device-level", "full",
                "--coarse-coordinates", "--capture-profile", "reference",
            ]) as? HashOnlySend
        )
        #expect(
            try command.depth.choice()
                == .keyframes(
                    paths: [Array("1.npy".utf8), Array("2.npy".utf8)],
                    layout: DepthMapFile.Layout(width: 256, height: 192, scale: 0.001)
                )
        )
        let facts = try command.facts.facts()
        #expect(facts.latitude == -33.8568 && facts.longitude == 151.2153)
        #expect(facts.city == "Sydney" && facts.country == "AU" && facts.deviceModel == "Leica Q2")
        #expect(facts.capturedAt == Date(timeIntervalSince1970: 1_777_660_200))
        let video = try #require(try command.media.video())
        #expect(video.hashChain.chainLength == 450 && video.hashChain.finalHash.hex == Self.hash)
        #expect(video.frameCount == 450 && video.durationMilliseconds == 15_000 && command.media.kind == .video)
        let settings = command.privacy.overriding(PrivacySettings())
        #expect(settings.location == .precise && settings.timestamp == .dayOnly && settings.deviceInfo == .full)
        #expect(command.connection.flags[.captureProfile] == "reference" && !command.sendMedia)
    }

    @Test func levelsThatAreNotSpecifiedAreUnchanged() {
        var kept = PrivacySettings()
        kept.location = .none
        kept.isPrivacyModeEnabled = true
        #expect(CapturePrivacyOptions.parseOrExit([]).overriding(kept) == kept)
    }

    @Test(arguments: [
        ["hash-only"], ["hash-only", ""], ["hash-only", "a", "--digest", "sha256:x"], ["hash-only", "--digest", "x"],
        ["hash-only", "--digest", "x", "--media-type", "photo", "--send-media"],
        ["hash-only", "a", "--send-media", "--dry-run"], ["hash-only", "a", "b", "--depth", "d"],
        ["hash-only", "a", "b", "--keyframe-depth", "d"],
        ["hash-only", "a", "b", "--captured-at", "2026-05-01T00:00:00Z"],
        ["hash-only", "a", "b", "--hash-chain", "x", "--frame-count", "1", "--duration-ms", "1"],
        ["hash-only", "a", "--depth", "d", "--no-depth"], ["hash-only", "a", "--depth-size", "3x3"],
        ["hash-only", "a", "--no-depth", "--depth-scale", "1"], ["hash-only", "a", "--depth", ""],
        ["hash-only", "a", "--frame-count", "1"], ["hash-only", "a", "--media-type", "sound"],
        ["hash-only", "a", "--hash-chain", "x", "--frame-count", "1", "--duration-ms", "1", "--media-type", "photo"],
        ["hash-only", "a", "--location-level", "city"], ["hash-only", "retry"], ["hash-only", "retry", "a", "--all"],
        ["hash-only", "retry", "--all", "--resend"], ["hash-only", "retry", "a", "--resend", "--as-hash-only"],
        ["hash-only", "export", "a"], ["hash-only", "export", "a", "--depth-to", "d", "--bundle", "b"],
        ["hash-only", "export", "a", "--output", "b", "--first"], ["hash-only", "export", "a", "--output", ""],
        ["hash-only", "verify"],
        ["hash-only", "verify", "--bundle", "b", "--server", "https://h"], ["hash-only", "show"],
        ["hash-only", "verify", "--bundle", "b", "--insecure"],
        ["hash-only", "verify", "a", "--offline", "--retries", "0"],
        ["hash-only", "verify", "--bundle", "b", "--capture-profile", "reference"],
        ["hash-only", "register", "--device-id", "d", "--key", "k", "--model", "m"],
        ["hash-only", "settings", "set", "location"], ["hash-only", "settings", "set", "volume", "high"],
        ["hash-only", "register", "--key", "k", "--key-uri", "u", "--key-provider", "p"],
        ["hash-only", "register", "--key-uri", "u"], ["hash-only", "register", "--signer-command", "s"],
        ["hash-only", "register", "--signer-command", " ", "--public-key", "p"],
        ["hash-only", "register", "--device-id", "d", "--tpm2-evidence", "e"],
        // A key in a file is not in a TPM.
        ["hash-only", "register", "--key", "k", "--tpm2-evidence", "e"],
        ["hash-only", "register", "--tpm2-evidence", "e"],
        ["hash-only", "register", "--tpm", "--key", "k"],
        ["hash-only", "register", "--tpm", "--signer-command", "s", "--public-key", "p"],
        ["hash-only", "register", "--tpm", "--key-uri", "handle:0x81000001", "--key-provider", "pkcs11"],
        ["hash-only", "register", "--tpm", "--key-uri", "file:/k"],
        ["hash-only", "register", "--tpm", "--key-uri", "handle:0x81000001", "--tpm2-evidence", "e"],
        ["hash-only", "register", "--tpm", "--device-id", "d", "--key-uri", "handle:0x81000001"],
        ["hash-only", "register", "--tpm", "--ek-certificate", ""], ["hash-only", "register", "--ek-certificate", "c"],
        // An enrolled device has a key; a new one would belong to no device.
        ["hash-only", "register", "--device-id", "d"],
        // A full upload includes a depth map.
        ["hash-only", "a", "--send-media"], ["hash-only", "a", "--send-media", "--no-depth"],
        ["hash-only", "export", "a", "--output", "b", "--bundle", "b"],
    ])
    func conflictingOptionsAreUsageErrors(words: [String]) {
        #expect(throws: (any Error).self) { try MediactlCommand.parseAsRoot(words) }
    }

    @Test(arguments: [("256x192", 256, 192), ("1x1", 1, 1)])
    func sizes(text: String, width: Int, height: Int) throws {
        let size = try CaptureValue.depthSize(text)
        #expect(size.width == width && size.height == height)
    }

    @Test(arguments: ["", "256", "256x", "x192", "0x3", "-1x3", "3x3x3", "3 x 3", "3X3", "99999999999999999999x1"])
    func otherSizesAreRefused(text: String) {
        #expect(throws: InvalidValue.self) { try CaptureValue.depthSize(text) }
    }

    @Test(arguments: ["", "0", "-1", "1e3", "inf", "nan", "0x1p3", "1,5", "."])
    func otherScalesAreRefused(text: String) {
        #expect(throws: InvalidValue.self) { try CaptureValue.depthScale(text) }
    }

    @Test(arguments: [
        ("52.5163,13.3777", 52.5163, 13.3777), ("-90,180", -90, 180), ("0,-0", 0, 0), ("-0.00,5", 0, 5),
    ])
    func positions(text: String, latitude: Double, longitude: Double) throws {
        let position = try CaptureValue.coordinates(text)
        #expect(position.latitude == latitude && position.longitude == longitude)
        #expect(position.latitude.sign == (latitude < 0 ? .minus : .plus))
        #expect(position.longitude.sign == (longitude < 0 ? .minus : .plus))
    }

    @Test(arguments: [
        "", "52", "52,", "90.1,0", "0,180.5", "52,13,1", "5e1,0", "nan,0", "52.51631234567890123,0", " 52,13", "+52,13",
    ])
    func otherPositionsAreRefused(text: String) {
        #expect(throws: InvalidValue.self) { try CaptureValue.coordinates(text) }
    }

    @Test(arguments: [
        ("Berlin,DE", "Berlin", "DE"), ("DE", nil, "DE"), ("Washington, D.C.,US", "Washington, D.C.", "US"),
        ("Köln, DE", "Köln", "DE"), ("a hamlet in no table,PN", "a hamlet in no table", "PN"),
    ])
    func places(text: String, city: String?, country: String) throws {
        let place = try CaptureValue.place(text)
        #expect(place.city == city && place.country == country)
    }

    @Test(arguments: [
        "", "Berlin", "Berlin,Germany", "Berlin,de", ",DE", "A\nB,DE", "A\tB,DE", "\u{1b}[31mA,DE", "London,UK", "ZZ",
    ])
    func otherPlacesAreRefused(text: String) {
        #expect(throws: InvalidValue.self) { try CaptureValue.place(text) }
    }

    @Test func aLongCityIsTooLong() throws {
        let longest = String(repeating: "ö", count: 100)
        #expect(try CaptureValue.place(longest + ",DE").city == longest)
        let error = #expect(throws: InvalidValue.self) { try CaptureValue.place(longest + "n,DE") }
        #expect(error?.rule == "is too long")
    }

    @Test(arguments: ["", "today", "2026-05-01", "2026-05-01T18:30:00", "2026-02-30T00:00:00Z"])
    func otherTimesAreRefused(text: String) {
        #expect(throws: InvalidValue.self) { try CaptureValue.time(text) }
    }

    @Test func digestsMustBeSHA256() throws {
        #expect(try CaptureValue.digest("sha256:" + Self.hash.uppercased()).hex == Self.hash)
        for text in ["", Self.hash, "sha1:" + Self.hash, "sha256:" + Self.hash.dropLast(), "SHA256:" + Self.hash] {
            #expect(throws: InvalidValue.self) { try CaptureValue.digest(text) }
        }
    }

    @Test(arguments: ["", ":450", "HASH:0", "HASH:-1", "HASH", "HASH:2147483648", "HASH:1:2"])
    func otherChainsAreRefused(text: String) {
        #expect(throws: InvalidValue.self) { try CaptureValue.hashChain(text.replacing("HASH", with: Self.hash)) }
    }

    @Test(arguments: ["0", "-1", "2147483648", "1.5", ""])
    func amountsAreWholeNumbersOf31Bits(text: String) {
        #expect(throws: InvalidValue.self) { try CaptureValue.amount(text) }
    }

    // X.690, 8.3: the only leading zero is the one without which the number would be negative.
    @Test func signaturesInDERMustBeMinimal() {
        let raw: [UInt8] = [0, 0x80] + Array(repeating: 1, count: 30) + Array(repeating: 0, count: 31) + [5]
        let der = ECDSASignature.der(from: raw) ?? []
        #expect(der == [0x30, 0x25, 0x02, 0x20, 0, 0x80] + Array(repeating: 1, count: 30) + [0x02, 1, 5])
    }

    // JSON printed on a terminal cannot control it, and keeps its meaning.
    @Test func terminalControlCharactersInJSONAreEscaped() {
        let json = "{\"a\":\n \"x\u{7f}\u{9b}\u{202e}é\",\"n\":1.0e-7}"
        #expect(JSONValue.verbatim(json).json(isForTerminals: true) == #"{"a":  "x\u007f\u009b\u202eé","n":1.0e-7}"#)
    }

    @Test func commandsAreThoseOfTheParent() {
        #expect(
            HashOnly.configuration.subcommands.map { $0._commandName }
                == ["send", "register", "list", "show", "retry", "export", "verify", "settings"]
        )
    }
}

import ArgumentParser

/// How the capture half of a sandbox behaves (hash-only contract).
struct CaptureSettings: Sendable {
    /// Which server this is.
    enum Profile: String, Sendable, CaseIterable, ExpressibleByArgument {
        /// Complete and honest (contract 3.4).
        case mediactl1 = "mediactl-1"
        /// The existing server as it is, with its deviations (contract section 9).
        case reference

        var relyingParty: String {
            switch self {
            case .mediactl1: "mediactl-1"
            case .reference: "XXXXXXXXXX.com.realitycam.app"
            }
        }
    }

    /// A device that is enrolled before the start, as `UUID:LEVEL:PUBLIC_KEY_PEM_FILE`.
    struct EnrolledDevice: Sendable, ExpressibleByArgument {
        var id: String
        var level: String
        var key: P256PublicKey

        init?(argument: String) {
            let pieces = argument.split(separator: ":", maxSplits: 2).map(String.init)
            guard pieces.count == 3, let id = CaptureID.read(pieces[0]), !pieces[1].isEmpty,
                let key = P256PublicKey(pemFile: pieces[2])
            else { return nil }
            self.id = id
            level = pieces[1]
            self.key = key
        }
    }

    var profile = Profile.mediactl1
    /// Its SHA-256 begins every assertion of a payload.
    var relyingParty = Profile.mediactl1.relyingParty
    /// The reference server's `REQUIRE_VERIFIED_DEVICES`; on `mediactl-1` it admits level `tpm2` only.
    var isStrict = false
    var devices: [EnrolledDevice] = []
    /// Seconds by which its clock is ahead of the machine's.
    var clockOffset = 0.0
    /// What stands before `/api/v1` when a reverse proxy serves it below a path; empty or `/photos`.
    var basePath = ""

    var now: CaptureTime { .now(offset: clockOffset) }
}

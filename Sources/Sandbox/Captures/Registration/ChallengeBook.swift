import HTTPTypes
import Synchronization

/// The challenges that were given out: in memory, five minutes long, each for one registration (contract 3.2).
final class ChallengeBook: Sendable {
    private struct State {
        var challenges: [[UInt8]: CaptureTime] = [:]
        /// When each address asked.
        var calls: [String: [CaptureTime]] = [:]
    }

    private static let callsAMinute = 10

    private let state = Mutex(State())

    /// A new challenge; nil when this address has asked too often.
    func issue(to address: String, at now: CaptureTime) -> (challenge: [UInt8], expiresAt: CaptureTime)? {
        state.withLock { state in
            var calls = state.calls[address, default: []].filter { $0 > now.advanced(bySeconds: -60) }
            guard calls.count < Self.callsAMinute else { return nil }
            calls.append(now)
            state.calls[address] = calls
            let challenge = randomBytes(32)
            let expiry = now.advanced(bySeconds: 300)
            state.challenges[challenge] = expiry
            return (challenge, expiry)
        }
    }

    /// Uses a challenge up.
    func redeem(_ challenge: [UInt8], at now: CaptureTime) throws(CaptureRefusal) {
        guard challenge.count == 32 else {
            throw CaptureRefusal(.unauthorized, "CHALLENGE_INVALID", "Challenge must be 32 bytes")
        }
        guard let expiry = state.withLock({ $0.challenges.removeValue(forKey: challenge) }) else {
            throw CaptureRefusal(.badRequest, "CHALLENGE_NOT_FOUND", "Challenge is not known or was used")
        }
        guard now <= expiry else { throw CaptureRefusal(.badRequest, "CHALLENGE_EXPIRED", "Challenge has expired") }
    }
}

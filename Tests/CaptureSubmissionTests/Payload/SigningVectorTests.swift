import MediaCrypto
import Testing

@testable import CaptureSubmission

/// `fixtures/hash-only-canonical`, created by the reference server's own code (hash-only contract 2.1).
@Suite("What the reference server signs")
struct SigningVectorTests {
    @Test("the vectors exist")
    func count() {
        #expect(SigningVector.all.count == 17)
        #expect(SigningVector.all.filter { !$0.accepted }.count == 4)
    }

    @Test("a body is parsed and written exactly as the server does it", arguments: SigningVector.all)
    func vector(_ vector: SigningVector) throws {
        let rebuilt = SignedBytes.rebuilt(from: Array(vector.request_body.utf8), for: .reference)
        #expect(rebuilt.map { String(decoding: $0, as: UTF8.self) } == vector.signed_bytes)
        #expect((rebuilt != nil) == vector.accepted)
        if let rebuilt { #expect(try SHA256Digest.of(rebuilt).hex == vector.client_data_hash) }
    }

    /// Values that our payload cannot represent, since we never send them: an altitude, a hash in upper case, a time
    /// with an offset.
    private static let notOurs = ["location_with_altitude", "offset_time_and_case"]

    @Test(
        "our own payload of the same values produces the same bytes",
        arguments: SigningVector.all.filter { $0.accepted && !notOurs.contains($0.name) }
    )
    func payload(_ vector: SigningVector) throws {
        let payload = try #require(SamplePayload.reading(vector.request_body))
        #expect(String(decoding: try payload.signedBytes(for: .reference), as: UTF8.self) == vector.signed_bytes)
        #expect(try payload.clientDataHash(for: .reference).hex == vector.client_data_hash)
    }
}

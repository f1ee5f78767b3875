import MediaCrypto
import Testing

@testable import CaptureSubmission

@Suite("The body of a hash-only capture")
struct HashOnlyBodyTests {
    @Test("mediactl-1 signs everything but the assertion, including video members, in the form of RFC 8785")
    func canonical() throws {
        let expected = [
            #"{"capture_mode":"hash_only","captured_at":"2025-12-01T10:00:00Z","depth_analysis":{"algorithm_version":"1.0","#,
            #""depth_layers":8,"depth_variance":1.5518606901168823,"edge_coherence":0.800000011920929,"#,
            #""is_likely_real_scene":true,"max_depth":5,"min_depth":0.5,"status":"completed"},"duration_ms":15000,"#,
            #""frame_count":450,"hash_chain":{"chain_length":450,"checkpoint_count":3,"final_hash":"#,
            "\"\(String(repeating: "c", count: 64))\"",
            #","version":"1.0"},"media_hash":"efa1f375d76194fa51a3556a97e641e61685f914d446979da50a551a4333ffd7","#,
            #""media_type":"video","metadata":{},"metadata_flags":{"device_info_included":false,"#,
            #""device_info_level":"none","location_included":false,"location_level":"none","#,
            #""timestamp_included":false,"timestamp_level":"none"},"temporal_depth_analysis":{"#,
            #""algorithm_version":"1.0","is_likely_real_scene":true,"keyframe_count":150,"#,
            #""mean_variance":0.6000000238418579,"temporal_coherence":0.75,"variance_stability":0.8999999761581421}}"#,
        ].joined()
        let payload = try SamplePayload.video()
        #expect(String(decoding: try payload.signedBytes(for: .mediactl1), as: UTF8.self) == expected)
        let body = try payload.body(for: .mediactl1, assertion: "AA==")
        #expect(
            String(decoding: body.bytes, as: UTF8.self) == #"{"assertion":"AA==","# + expected.dropFirst(),
            "the members of the body have the same spelling and order"
        )
    }

    @Test("the reference's body consists of the signed bytes, then video members and assertion")
    func reference() throws {
        let payload = try SamplePayload.video()
        let signed = String(decoding: try payload.signedBytes(for: .reference), as: UTF8.self)
        let body = String(decoding: try payload.body(for: .reference, assertion: "AA==").bytes, as: UTF8.self)
        let chain = String(repeating: "c", count: 64)
        let rest = [
            #","hash_chain":{"final_hash":"\#(chain)","chain_length":450,"version":"1.0","checkpoint_count":3},"#,
            #""frame_count":450,"duration_ms":15000,"temporal_depth_analysis":{"mean_variance":0.6000000238418579,"#,
            #""variance_stability":0.8999999761581421,"temporal_coherence":0.75,"is_likely_real_scene":true,"#,
            #""keyframe_count":150,"algorithm_version":"1.0"},"assertion":"AA=="}"#,
        ].joined()
        #expect(body == "\(signed.dropLast())\(rest)")
    }

    @Test("an unavailable analysis is stated in mediactl-1, and omitted in the reference (M4)")
    func unavailable() throws {
        let payload = try SamplePayload.photo { $0.depthAnalysis = .unavailable }
        let text = { String(decoding: try payload.signedBytes(for: $0), as: UTF8.self) }
        #expect(try text(.mediactl1).contains(#""status":"unavailable""#))
        #expect(try !text(.reference).contains("status"))
    }

    @Test("a place is sent only in mediactl-1 (M5)")
    func place() async throws {
        let payload = try SamplePayload.disclosing(CaptureMetadata(location: .place(city: "Zürich", country: "CH")))
        #expect(
            String(decoding: try payload.signedBytes(for: .mediactl1), as: UTF8.self)
                .contains(#""metadata":{"location":{"city":"Zürich","country":"CH"}}"#)
        )
        await expectFailure(.internalError) { _ = try payload.signedBytes(for: .reference) }
    }

    @Test("coordinates have at most 15 digits if the server cannot read more digits exactly (contract 2.1)")
    func coordinates() throws {
        let third = CaptureMetadata.Location.coordinates(latitude: 1.0 / 3, longitude: -200.0 / 3)
        let payload = try SamplePayload.disclosing(CaptureMetadata(location: third))
        let text = { String(decoding: try payload.signedBytes(for: $0), as: UTF8.self) }
        #expect(try text(.mediactl1).contains(#"{"latitude":0.3333333333333333,"longitude":-66.66666666666667}"#))
        #expect(try text(.reference).contains(#"{"latitude":0.333333333333333,"longitude":-66.6666666666667}"#))
    }

    /// Changes that make a payload invalid.
    private static let unfit: [(name: String, change: @Sendable (inout HashOnlyPayload) -> Void)] = [
        ("NaN", { $0.depthAnalysis.depthVariance = .nan }),
        ("infinity", { $0.depthAnalysis.maxDepth = .infinity }),
        ("too large for binary32", { $0.depthAnalysis.minDepth = 1e39 }),
        ("coherence of NaN", { $0.depthAnalysis.edgeCoherence = .nan }),
        ("coherence above 1", { $0.depthAnalysis.edgeCoherence = 1.5 }),
        ("negative layers", { $0.depthAnalysis.depthLayers = -1 }),
        ("latitude of NaN", { $0.metadata.location = .coordinates(latitude: .nan, longitude: 0) }),
        ("infinite longitude", { $0.metadata.location = .coordinates(latitude: 0, longitude: -.infinity) }),
        ("temporal NaN", { $0.video?.temporalAnalysis?.varianceStability = .nan }),
        ("no frames", { $0.video?.frameCount = 0 }),
        ("no duration", { $0.video?.durationMilliseconds = 0 }),
        ("a photo with video members", { $0.mediaType = .photo }),
    ]

    @Test("a payload that no server could verify has no body", arguments: unfit.indices, CaptureProfile.allCases)
    func refused(_ index: Int, _ profile: CaptureProfile) async throws {
        let payload = try SamplePayload.video(Self.unfit[index].change)
        // The reference does not sign the members of a video, but they must still be valid.
        await expectFailure(.internalError) { _ = try payload.body(for: profile, assertion: Assertion.placeholder) }
    }

    @Test("a video requires its members")
    func videoWithoutMembers() async throws {
        let payload = try SamplePayload.photo { $0.mediaType = .video }
        await expectFailure(.videoMembersMissing) { _ = try payload.signedBytes(for: .mediactl1) }
    }

    // MARK: Size

    @Test(
        "10,239 bytes are accepted, but 10,240 are not; the sizes of the parts match the total",
        arguments: CaptureProfile.allCases
    )
    func limit(_ profile: CaptureProfile) async throws {
        let payload = { (length: Int) in
            try SamplePayload.disclosing(CaptureMetadata(deviceModel: String(repeating: "m", count: length)))
        }
        let room = 10_239 - (try payload(0).body(for: profile, assertion: Assertion.placeholder).bytes.count)
        #expect(try payload(room).body(for: profile, assertion: Assertion.placeholder).bytes.count == 10_239)
        let error = await expectFailure(.payloadTooLarge) {
            _ = try payload(room + 1).body(for: profile, assertion: Assertion.placeholder)
        }
        let parts = error?.parts ?? []
        #expect(parts.map(\.byteCount).reduce(0, +) + parts.count - 1 + 2 == 10_240, "the rest are commas and braces")
        #expect(parts.first { $0.name == "assertion" }?.byteCount == #""assertion":"""#.utf8.count + 180)
        #expect((parts.first { $0.name == "metadata" }?.byteCount ?? 0) > 8000)
    }

    @Test("bytes are accepted as a body only below the size limit")
    func bytes() {
        #expect(HashOnlyBody(bytes: []) == nil)
        #expect(HashOnlyBody(bytes: Array(repeating: 0x20, count: 10_240)) == nil)
        #expect(HashOnlyBody(bytes: Array(repeating: 0x20, count: 10_239)) != nil)
    }

    // MARK: Reading again

    @Test(
        "a body that would produce different signed bytes is not sent (contract 2.3)",
        arguments: CaptureProfile.allCases
    )
    func selfCheck(_ profile: CaptureProfile) async throws {
        let payload = try SamplePayload.photo()
        let signed = try payload.signedBytes(for: profile)
        let body = String(decoding: try payload.body(for: profile, assertion: "AA==").bytes, as: UTF8.self)
        let changed = body.replacing("\"depth_layers\":8", with: "\"depth_layers\":9")
        #expect(changed != body)
        try HashOnlyPayload.check(#require(HashOnlyBody(bytes: Array(body.utf8))), against: signed, for: profile)
        let other = try #require(HashOnlyBody(bytes: Array(changed.utf8)))
        await expectFailure(.internalError) { try HashOnlyPayload.check(other, against: signed, for: profile) }
    }

    @Test("a stored body yields its payload, with depths as sent", arguments: CaptureProfile.allCases)
    func reading(_ profile: CaptureProfile) throws {
        var payloads = [
            try SamplePayload.photo(), try SamplePayload.video(),
            try SamplePayload.photo { $0.depthAnalysis = .unavailable },
            try SamplePayload.disclosing(
                CaptureMetadata(
                    location: .coordinates(latitude: 47.25, longitude: -0.5),
                    timestamp: "2025-12-01",
                    deviceModel: "Z\"ü\\\u{1}"
                )
            ),
        ]
        if profile == .mediactl1 {
            payloads.append(try SamplePayload.disclosing(CaptureMetadata(location: .place(city: nil, country: "CH"))))
        }
        for payload in payloads {
            let body = try payload.body(for: profile, assertion: Assertion.placeholder)
            let read = try HashOnlyPayload.reading(body, profile: profile)
            #expect(read.payload == payload.onTheWire)
            #expect(read.assertion == Assertion.placeholder)
        }
    }

    @Test(
        "a body that differs from a newly built one is invalid",
        arguments: [
            ("{", "{ "), ("}", "}\n"), ("0.5", "0.50"), (#""metadata":{}"#, #""metadata":{"x":1}"#),
            (#""media_hash":"efa1"#, #""media_hash":"EFA1"#), ("hash_only", "full"),
            (#""location_included":false"#, #""location_included":true"#),
            (#""algorithm_version":"1.0""#, #""algorithm_version":"1.1""#),
            (#""assertion":"AA==""#, #""assertion":null"#),
            (#""depth_layers":8"#, #""depth_layers":8.0"#), ("2025", "20\\u00325"),
        ],
        CaptureProfile.allCases
    )
    func strictness(_ change: (from: String, to: String), _ profile: CaptureProfile) async throws {
        let body = try SamplePayload.photo().body(for: profile, assertion: "AA==")
        let text = String(decoding: body.bytes, as: UTF8.self)
        let changed = text.replacing(change.from, with: change.to, maxReplacements: 1)
        #expect(changed != text)
        let kept = try #require(HashOnlyBody(bytes: Array(changed.utf8)))
        await expectFailure(.recordUnusable) { _ = try HashOnlyPayload.reading(kept, profile: profile) }
    }

    @Test("a body of one profile is invalid for the other")
    func otherProfile() async throws {
        let body = try SamplePayload.photo().body(for: .reference, assertion: "AA==")
        await expectFailure(.recordUnusable) { _ = try HashOnlyPayload.reading(body, profile: .mediactl1) }
    }
}

extension HashOnlyPayload {
    /// The payload as it is read back, with depths rounded to binary32.
    fileprivate var onTheWire: HashOnlyPayload {
        with { payload in
            let narrow = { (number: Double) in Double(Float(number)) }
            payload.depthAnalysis.depthVariance = narrow(depthAnalysis.depthVariance)
            payload.depthAnalysis.edgeCoherence = narrow(depthAnalysis.edgeCoherence)
            payload.depthAnalysis.minDepth = narrow(depthAnalysis.minDepth)
            payload.depthAnalysis.maxDepth = narrow(depthAnalysis.maxDepth)
            guard let temporal = video?.temporalAnalysis else { return }
            payload.video?.temporalAnalysis?.meanVariance = narrow(temporal.meanVariance)
            payload.video?.temporalAnalysis?.varianceStability = narrow(temporal.varianceStability)
            payload.video?.temporalAnalysis?.temporalCoherence = narrow(temporal.temporalCoherence)
        }
    }
}

import Foundation
import TestSupport
import Testing

@testable import Sandbox

/// `POST /api/photos/upload` (photosync contract 3).
@Suite struct PhotoUploadTests {
    let fixture: PhotoFixture

    init() async throws { fixture = try await PhotoFixture() }

    @Test func typesAreDeterminedByNameOnly() async throws {
        for name in ["a.jpg", "a.jpeg", "a.PNG", "a.Gif", "a.webp", "a.heic", "a.HEIF", ".gif"] {
            #expect(try await fixture.upload(try fixture.file(name, name.utf8)).status == 200, "\(name)")
        }
        for name in ["a.bmp", "a.tif", "a.tiff", "a.mp4", "a.mov", "a", "jpg", "a.jpg.txt"] {
            let response = try await fixture.upload(try fixture.file(name, name.utf8))
            #expect(response.status == 400, "\(name)")
            #expect(response.text == #"{"error":"file extension not allowed"}"# + "\n", "\(name)")
        }
    }

    @Test func aFileMayHaveExactlyTheMaximumLength() async throws {
        let fixture = try await PhotoFixture(["--photosync-max-size", "1000"])
        func upload(_ size: Int) async throws -> String? {
            let path = try fixture.file("a.jpg", [UInt8](repeating: 7, count: size))
            return try await fixture.upload(path).string("error")
        }
        #expect(try await upload(1000) == nil)
        #expect(try await upload(1001) == "file size exceeds maximum allowed")
        #expect(try await upload(0) == "file size must be positive")
    }

    /// The hash is looked up before the file is validated; the existing row does not change.
    @Test func knownBytesAreADuplicateRegardlessOfNameAndOwner() async throws {
        let device = try await fixture.register("t")
        let first = try await fixture.upload(try fixture.file("a.jpg", "same".utf8)).object()
        let again = try await fixture.upload(
            try fixture.file("b.mov", "same".utf8),
            ["deviceId=" + device, "dateTaken=2001-01-01T00:00:00Z"],
            as: PhotoFixture.bob
        )
        #expect(try again.object()["isDuplicate"] as? Bool == true)
        #expect(try again.string("id") == first["id"] as? String)
        #expect(try again.string("storedPath") == first["storedPath"] as? String)
        let rows = try await fixture.sandbox.photos()
        #expect(rows.map(\.device) == [nil])
        #expect(rows.map(\.user) == ["alice@example.test"])
        #expect(try await fixture.status(as: PhotoFixture.bob)["totalPhotos"] == 0)
    }

    @Test func aPartWithoutAFileNameIsNotAFile() async throws {
        let path = try fixture.file("a.jpg", "bytes".utf8)
        let url = fixture.sandbox.baseURL + "/api/photos/upload"
        // curl's `<` sends the content without `filename=`.
        for form in [["-F", "file=<" + path], ["-F", "file=@\(path);filename="], ["-F", "photo=@" + path]] {
            let response = try await curl(PhotoFixture.alice + form + [url])
            #expect(response.status == 400)
            #expect(try response.string("error") == "No file provided or file is empty.", "\(form)")
        }
    }

    @Test func theFirstOfSeveralPartsCountsInAnyOrderAndWhenChunked() async throws {
        let first = try fixture.file("first.jpg", "1".utf8)
        let second = try fixture.file("second.jpg", "2".utf8)
        let response = try await curl(
            PhotoFixture.alice + ["-H", "Transfer-Encoding: chunked"]
                + [
                    "originalFilename=one.jpg", "originalFilename=two.jpg", "file=@" + first, "file=@" + second,
                    "dateTaken=2024-01-01T00:00:00Z", "dateTaken=2025-01-01T00:00:00Z",
                ]
                .flatMap { ["-F", $0] } + [fixture.sandbox.baseURL + "/api/photos/upload"]
        )
        #expect(try response.string("storedPath") == "2024/01/first.jpg")
        #expect(try await fixture.sandbox.photos().map(\.originalFilename) == ["one.jpg"])
    }

    @Test func aTruncatedFormIsInvalid() async throws {
        let text = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.jpg\"\r\n\r\nbytes"
        for type in ["multipart/form-data; boundary=b", "multipart/form-data", "application/json"] {
            let response = try await curl(
                PhotoFixture.alice
                    + ["-H", "Content-Type: " + type, "-d", text, fixture.sandbox.baseURL + "/api/photos/upload"]
            )
            #expect(try response.string("error") == "Request must be multipart/form-data.")
        }
        #expect(try await fixture.sandbox.photos().isEmpty)
    }

    /// Traps 4 and 5: the local time is kept, and an invalid date becomes the current time, even if the file has a
    /// date.
    @Test func datesAreParsedLikeOnTheServer() async throws {
        func upload(_ date: String?) async throws -> SandboxProcess.StoredPhoto? {
            let content = jpeg(width: 1, height: 1, exif: exif(orientation: 1, date: "2019:07:03 12:34:56"))
            let path = try fixture.file("a.jpg", content)
            let id = try await fixture.upload(path, date.map { ["dateTaken=" + $0] } ?? []).string("id")
            return try await fixture.sandbox.photos().first { $0.id == id }
        }
        let kept = try await upload("2024-03-01T00:30:00.123+02:00")
        #expect(kept?.dateTaken == "2024-03-01T00:30:00.123Z")
        #expect(kept?.storedPath.hasPrefix("2024/03/") == true)
        #expect(try await upload("2024-12-31T23:59:59.9999999Z")?.dateTaken == "2025-01-01T00:00:00Z")
        #expect(try await upload(nil)?.dateTaken == "2019-07-03T12:34:56Z")
        for bad in ["2024-01-31 23:59:59", "2024-01-31T23:59:59", "2024-01-31T23:59:59+0000", "x"] {
            let photo = try #require(try await upload(bad))
            #expect(photo.dateTaken.prefix(4) == photo.uploadedAt.prefix(4), "\(bad)")
        }
    }

    @Test(arguments: [
        ("../../etc/passwd.jpg", "passwd.jpg"), ("a:b*c?.jpg", "a_b_c_.jpg"), ("a..b.jpg", "ab.jpg"),
        ("x<y>|z.jpg", "x_y__z.jpg"), (String(repeating: "é", count: 150) + ".jpg", ""),
    ])
    func namesAreSanitizedByTheServer(name: String, expected: String) {
        let stored = PhotoName.stored(name)
        if expected.isEmpty {
            #expect(stored == String(repeating: "é", count: 98) + ".jpg")
        } else {
            #expect(stored == expected)
        }
    }

    @Test func oneOfManyIdenticalConcurrentUploadsIsNew() async throws {
        let path = try fixture.file("a.jpg", "same".utf8)
        let duplicates = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<6 {
                group.addTask { try await fixture.upload(path).object()["isDuplicate"] as? Bool == true }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(duplicates == 5)
    }

    @Test func checkRespondsForAllUsers() async throws {
        try await fixture.sandbox.addPhotos(
            #"{"user":"bob@example.test","fileHash":"\#(String(repeating: "a", count: 64))"}"#
        )
        func check(_ json: String) async throws -> CurlResponse { try await fixture.post("/api/photos/check", json) }
        let known = String(repeating: "A", count: 64)
        let response = try await check(#"{"hashes":[" \#(known) ","beef","BEEF"]}"#)
        #expect(response.text == #"{"existing":["\#(known.lowercased())"],"missing":["beef"]}"# + "\n")
        func many(_ count: Int) -> String {
            #"{"hashes":["# + (0..<count).map { "\"h\($0)\"" }.joined(separator: ",") + "]}"
        }
        #expect(try await check(many(1000)).status == 200)
        let refusals = [
            (many(1001), "Maximum 1000 hashes can be checked at once."), ("{}", "At least one hash is required."),
            (#"{"hashes":[]}"#, "At least one hash is required."), (#"{"hashes":[7]}"#, "Invalid request body."),
            ("", "Invalid request body."),
        ]
        for (json, text) in refusals {
            let response = try await check(json)
            #expect(response.status == 400)
            #expect(try response.string("error") == text)
        }
    }
}

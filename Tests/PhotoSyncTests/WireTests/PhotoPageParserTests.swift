import Foundation
import MediaStore
import Testing

@testable import PhotoSync

@Suite("Pages of the listing")
struct PhotoPageParserTests {
    private static let digest = String(repeating: "ab", count: 32)

    /// A photo with one member replaced; nil omits it.
    private func photo(_ member: String = "", _ value: String? = nil) -> String {
        var members = [
            ("id", "\"p-1\""), ("fileHash", "\"\(Self.digest)\""), ("originalFilename", "\"a.jpg\""),
            ("fileSize", "7"), ("dateTaken", "\"2024-01-11T10:30:00Z\""),
            ("uploadedAt", "\"2026-11-20T22:19:08.688601Z\""),
        ]
        members.removeAll { $0.0 == member }
        if let value { members.append((member, value)) }
        return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    private func page(_ photos: String, pagination: String = "{\"hasMore\":false}", sync: String = "{\"totalCount\":1}")
        -> [UInt8]
    {
        Array("{\"photos\":\(photos),\"pagination\":\(pagination),\"sync\":\(sync)}\n".utf8)
    }

    private func error(_ body: [UInt8]) -> PhotoSyncError? {
        do {
            _ = try PhotoPageParser.page(in: body)
            return nil
        } catch {
            return error
        }
    }

    @Test("every member is read, in any order; unknown ones are skipped")
    func members() throws {
        let body = """
             {"later":[{"deep":[1,-2.5e3,"x",{"y":null}]}],"sync":{"serverVersion":9,"totalCount":12,"returnedCount":1},
              "pagination":{"hasMore":true,"cursor":"c-1"},"photos":[ {"height":480,"width":640,
              "thumbnailUrl":"/api/web/photos/p/thumbnail","originDevice":{"isCurrentDevice":true,"platform":"ios",
              "name":"\\u00c4 \\"phone\\"\\ud83d\\ude00","id":"d-1","more":{}},"uploadedAt":"2026-11-20T22:19:08.688601Z",
              "dateTaken":"2024-01-11T10:30:00Z","fileSize":67117,"originalFilename":"Ü/..\\\\ \\n.jpg","fileHash":
              "\(Self.digest.uppercased())","id":"p-1","new":true} ] }
            """
        let expected = PhotoRecord(
            id: "p-1",
            sha256: Self.digest,
            originalFilename: "Ü/..\\ \n.jpg",
            fileSize: 67_117,
            takenAt: PhotoTime(text: "2024-01-11T10:30:00Z", microseconds: 1_704_969_000_000_000),
            uploadedAt: PhotoTime(text: "2026-11-20T22:19:08.688601Z", microseconds: 1_795_213_148_688_601),
            originDevice: PhotoDevice(id: "d-1", name: "Ä \"phone\"😀", platform: "ios"),
            width: 640,
            height: 480
        )
        let page = try PhotoPageParser.page(in: Array(body.utf8))
        #expect(page == PhotoPage(photos: [expected], cursor: "c-1", hasMore: true, totalCount: 12))
    }

    @Test(
        "trap 6: missing and null are the same",
        arguments: ["originDevice", "thumbnailUrl", "width", "height"]
    )
    func absent(member: String) throws {
        let without = try PhotoPageParser.page(in: page("[\(photo())]"))
        let null = try PhotoPageParser.page(in: page("[\(photo(member, "null"))]"))
        #expect(without == null)
        #expect(without.photos.first?.originDevice == nil)
        #expect(without.cursor == nil)
        #expect(
            try PhotoPageParser.page(in: page("[]", pagination: "{\"cursor\":null,\"hasMore\":true}")).cursor == nil
        )
    }

    @Test("an empty cursor means no cursor: sent back, it would request the first page")
    func emptyCursor() throws {
        let read = try PhotoPageParser.page(in: page("[]", pagination: "{\"cursor\":\"\",\"hasMore\":true}"))
        #expect(read.cursor == nil)
    }

    @Test(
        "a value that the index could not trust makes the page invalid, and the error contains its name",
        arguments: [
            ("id", nil), ("id", "null"), ("id", "\"\""), ("id", "7"), ("id", "\"\\ud800\""),
            ("fileHash", nil), ("fileHash", "\"abc\""), ("fileHash", "\"\(String(repeating: "g", count: 64))\""),
            ("fileHash", "\"\(String(repeating: "a", count: 65))\""), ("fileHash", "[]"),
            ("originalFilename", nil), ("originalFilename", "false"), ("originalFilename", "\"a\u{1}b\""),
            ("fileSize", nil), ("fileSize", "-1"), ("fileSize", "\"7\""), ("fileSize", "7.5"), ("fileSize", "1e3"),
            ("fileSize", "9223372036854775808"),
            ("dateTaken", nil), ("dateTaken", "\"2024-01-31 23:59:59\""), ("dateTaken", "1706745599"),
            ("dateTaken", "\"2024-01-31T23:59:59+0000\""), ("uploadedAt", nil), ("uploadedAt", "\"\""),
            ("originDevice", "\"d-1\""), ("originDevice", "{}"), ("originDevice", "{\"id\":\"\"}"),
            ("originDevice", "{\"id\":1}"), ("width", "\"640\""), ("width", "-1"), ("height", "true"),
        ] as [(String, String?)]
    )
    func unusable(member: String, value: String?) throws {
        let error = try #require(self.error(page("[\(photo()),\(photo(member, value))]")))
        #expect(error.code == .unexpectedResponse)
        #expect(error.detail.contains(member), "\(error.detail)")
    }

    @Test(
        "a response that is not a page is refused",
        arguments: [
            "", "null", "[]", "{}", "\"photos\"", "{\"photos\":null,\"pagination\":{\"hasMore\":false}}",
            "{\"photos\":{},\"pagination\":{\"hasMore\":false},\"sync\":{\"totalCount\":0}}",
            "{\"photos\":[null],\"pagination\":{\"hasMore\":false},\"sync\":{\"totalCount\":0}}",
            "{\"photos\":[1],\"pagination\":{\"hasMore\":false},\"sync\":{\"totalCount\":0}}",
            "{\"photos\":[],\"pagination\":{},\"sync\":{\"totalCount\":0}}",
            "{\"photos\":[],\"pagination\":{\"hasMore\":\"no\"},\"sync\":{\"totalCount\":0}}",
            "{\"photos\":[],\"pagination\":{\"hasMore\":false},\"sync\":{}}",
            "{\"photos\":[],\"pagination\":{\"hasMore\":false},\"sync\":{\"totalCount\":-1}}",
            "{\"photos\":[],\"pagination\":{\"hasMore\":false}}",
            "{\"photos\":[],\"pagination\":{\"hasMore\":false},\"sync\":{\"totalCount\":0}} {}",
            "{\"photos\":[,],\"pagination\":{\"hasMore\":false},\"sync\":{\"totalCount\":0}}",
            "{\"photos\":[],\"pagination\":{\"hasMore\":false},\"sync\":{\"totalCount\":0},}",
        ]
    )
    func noPage(text: String) {
        #expect(error(Array(text.utf8))?.code == .unexpectedResponse)
    }

    @Test("a truncated page is refused, not read as a shorter one")
    func cut() {
        let whole = page("[\(photo()),\(photo("width", "12"))]", pagination: "{\"cursor\":\"c\",\"hasMore\":true}")
        #expect(error(whole) == nil)
        // The trailing line feed does not count.
        for count in 0..<whole.count - 1 {
            #expect(error(Array(whole[..<count]))?.code == .unexpectedResponse, "\(count) bytes")
        }
    }

    @Test("deep nesting does not overflow the stack")
    func bombs() {
        for bomb in [String(repeating: "[", count: 1_000_000), String(repeating: "{\"a\":", count: 1_000_000)] {
            #expect(error(Array("{\"photos\":[],\"x\":\(bomb)".utf8))?.code == .unexpectedResponse)
        }
    }

    @Test("a thousand photos may have the same device")
    func manyPhotos() throws {
        let device =
            "{\"id\":\"7a1fd16f-4d30-4c68-96da-ce73a65541c4\",\"name\":\"a long name of a device\",\"platform\":\"ios\"}"
        let photos = (0..<1000).map { photo("id", "\"p-\($0)\"").dropLast() + ",\"originDevice\":\(device)}" }
        let read = try PhotoPageParser.page(in: page("[\(photos.joined(separator: ","))]"))
        #expect(read.photos.map(\.id) == (0..<1000).map { "p-\($0)" })
        #expect(Set(read.photos.map(\.originDevice)).count == 1)
    }

    @Test("each photo keeps its own device, regardless of their order and spelling")
    func alternatingDevices() throws {
        let devices = (0..<20).map { number in
            number % 5 == 4
                ? (text: "null", device: nil)
                : (
                    text: "{\"id\":\"d\(number % 13)\",\"name\":\"\\u00e4}\",\"platform\":\"ios\"}",
                    device: PhotoDevice(id: "d\(number % 13)", name: "ä}", platform: "ios")
                )
        }
        let photos = (0..<200).map { number in
            photo("id", "\"p-\(number)\"").dropLast() + ", \"originDevice\" : \(devices[number * 7 % 20].text) }"
        }
        let read = try PhotoPageParser.page(in: page("[\(photos.joined(separator: ","))]"))
        #expect(read.photos.map(\.originDevice) == (0..<200).map { devices[$0 * 7 % 20].device })
    }
}

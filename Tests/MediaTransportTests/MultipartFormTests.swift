import Foundation
import MediaTransport
import Synchronization
import TestSupport
import Testing

@Suite("Multipart bodies")
struct MultipartFormTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// The whole body, read in steps of `step` bytes.
    private func contents(of form: MultipartForm, step: Int = 65_536) throws -> [UInt8] {
        let reader = form.makeReader()
        return try drain(reader, step: step)
    }

    private func drain(_ reader: any RequestBodyReader, step: Int) throws -> [UInt8] {
        var all: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: step, alignment: 16)
        defer { buffer.deallocate() }
        while case let count = try reader.read(into: buffer), count > 0 {
            all += buffer[..<count]
        }
        return all
    }

    private func form(
        _ bytes: [UInt8],
        fields: [(name: String, value: String)] = [("label", "one")],
        fileName: String = "a.mp4",
        tap: (any ByteTap)? = nil
    ) throws -> MultipartForm {
        MultipartForm(
            fields: fields,
            file: try openFile(bytes, in: directory).content,
            name: "file",
            fileName: fileName,
            fileType: "video/mp4",
            boundary: "XX",
            tap: tap
        )
    }

    @Test("fields come first, in order, followed by the file with its own type")
    func layout() throws {
        let form = try form(Array("DATA".utf8), fields: [("event_date", "2026-03-01"), ("label", "größer ☃")])
        let expected =
            "--XX\r\nContent-Disposition: form-data; name=\"event_date\"\r\n\r\n2026-03-01\r\n"
            + "--XX\r\nContent-Disposition: form-data; name=\"label\"\r\n\r\ngrößer ☃\r\n"
            + "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.mp4\"\r\n"
            + "Content-Type: video/mp4\r\n\r\nDATA\r\n--XX--\r\n"
        #expect(String(decoding: try contents(of: form), as: UTF8.self) == expected)
        #expect(form.byteCount == Int64(expected.utf8.count))
        #expect(form.contentType == "multipart/form-data; boundary=XX")
    }

    @Test(
        "a name cannot terminate its header field",
        arguments: [
            ("a\";\r\n.mp4", "a%22;%0D%0A.mp4"), ("a\\b.mp4", "a\\b.mp4"), ("😀.mp4", "😀.mp4"),
            ("a;b=c.mp4", "a;b=c.mp4"),
            ("a%22.mp4", "a%22.mp4"),
        ]
    )
    func escaping(name: String, written: String) throws {
        let text = String(decoding: try contents(of: try form([1], fileName: name)), as: UTF8.self)
        #expect(text.contains("filename=\"\(written)\"\r\nContent-Type: video/mp4\r\n\r\n"))
    }

    @Test("the body is the same at every split point, and as long as declared", arguments: [0, 1, 2, 7, 300, 4096])
    func splits(size: Int) throws {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let form = try form(bytes)
        let whole = try contents(of: form)
        #expect(Int64(whole.count) == form.byteCount)
        for step in [1, 2, 3, 5, 64, 127, 128, 129, 4095, 4096, 4097] {
            #expect(try contents(of: form, step: step) == whole)
        }
    }

    @Test("after a rewind the same bytes are read again, and the tap restarts")
    func rewind() throws {
        let tap = RecordingTap()
        let form = try form(Array("0123456789".utf8), tap: tap)
        let reader = form.makeReader()
        let first = try drain(reader, step: 16)
        try reader.rewind()
        #expect(tap.bytes.isEmpty)
        #expect(try drain(reader, step: 7) == first)
        #expect(tap.bytes == Array("0123456789".utf8))
    }

    @Test("a file that shrank is an error, and one that grew is truncated to the announced length")
    func changedLength() throws {
        let (path, content) = try openFile(Array(repeating: 7, count: 1000), in: directory)
        let form = MultipartForm(
            fields: [],
            file: content,
            name: "file",
            fileName: "a",
            fileType: "video/mp4"
        )
        try FileHandle(forWritingTo: URL(fileURLWithPath: path)).truncate(atOffset: 1500)
        #expect(Int64(try contents(of: form).count) == form.byteCount)
        try FileHandle(forWritingTo: URL(fileURLWithPath: path)).truncate(atOffset: 400)
        #expect(throws: FileContentError.shrank(expected: 1000, actual: 400)) { try contents(of: form, step: 100) }
    }

    @Test("a shared descriptor is open as long as its owner or the content lives")
    func sharedDescriptor() throws {
        final class Owner: Sendable {
            let descriptor: Int32
            init(_ descriptor: Int32) { self.descriptor = descriptor }
            deinit { close(descriptor) }
        }
        let path = try directory.write("shared", "abc".utf8)
        var owner: Owner? = Owner(open(path, O_RDONLY))
        let descriptor = try #require(owner?.descriptor)
        var content = owner.map { FileContent(sharing: descriptor, of: $0, byteCount: 3) }
        content = nil
        #expect(fcntl(descriptor, F_GETFD) >= 0)
        content = owner.map { FileContent(sharing: descriptor, of: $0, byteCount: 3) }
        owner = nil
        var byte: UInt8 = 0
        #expect(try withUnsafeMutableBytes(of: &byte) { try content?.read(at: 1, into: $0) } == 1)
        #expect(byte == UInt8(ascii: "b"))
        content = nil
        #expect(fcntl(descriptor, F_GETFD) < 0)
    }

    @Test("boundaries are random, and have a legal length and legal characters (RFC 2046 section 5.1.1)")
    func boundaries() {
        let many = Set((0..<1000).map { _ in MultipartForm.randomBoundary() })
        #expect(many.count == 1000)
        #expect(many.allSatisfy { $0.utf8.count == 56 && $0.dropFirst(24).allSatisfy(\.isHexDigit) })
    }
}

/// Stores the bytes that were read.
final class RecordingTap: ByteTap {
    private let seen = Mutex<[UInt8]>([])

    var bytes: [UInt8] { seen.withLock { $0 } }

    func append(_ bytes: UnsafeRawBufferPointer) {
        let copy = Array(bytes)
        seen.withLock { $0 += copy }
    }

    func restart() {
        seen.withLock { $0 = [] }
    }
}

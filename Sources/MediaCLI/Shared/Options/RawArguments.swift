internal import ArgumentParser

/// Command line arguments that are not necessarily UTF-8. Each byte of an invalid sequence passes through the parser as
/// a private-use scalar, U+10FF00 plus the byte, and is converted back to the byte where a path is needed. So does each
/// byte of such a scalar.
enum RawArguments {
    private static let base: UInt32 = 0x10_FF00

    /// Converts an argument to text; the conversion is lossless.
    static func text(of bytes: [UInt8]) -> String {
        var text = String.UnicodeScalarView()
        var rest = bytes[...]
        while let first = rest.first {
            let length = min(sequenceLength(first), rest.count)
            let scalars = Array(String(decoding: rest.prefix(length), as: UTF8.self).unicodeScalars)
            let isValid = scalars[0] != "\u{fffd}" || Array(rest.prefix(3)) == [0xef, 0xbf, 0xbd]
            if scalars.count == 1, isValid, byte(of: scalars[0]) == nil {
                text.append(scalars[0])
                rest = rest.dropFirst(length)
            } else {
                text.append(Unicode.Scalar(base + UInt32(first)) ?? "\u{fffd}")
                rest = rest.dropFirst()
            }
        }
        return String(text)
    }

    /// The inverse of `text(of:)`.
    static func bytes(of text: String) -> [UInt8] {
        text.unicodeScalars.flatMap { scalar in byte(of: scalar).map { [$0] } ?? Array(String(scalar).utf8) }
    }

    /// The byte for which a scalar stands.
    private static func byte(of scalar: Unicode.Scalar) -> UInt8? {
        (base + 0x80...base + 0xff).contains(scalar.value) ? UInt8(scalar.value - base) : nil
    }

    /// The sequence length encoded in the first byte of a UTF-8 sequence (RFC 3629 section 3).
    private static func sequenceLength(_ first: UInt8) -> Int {
        switch first {
        case 0xc2...0xdf: 2
        case 0xe0...0xef: 3
        case 0xf0...0xf4: 4
        default: 1
        }
    }
}

/// A value of a model enumeration as an argument: its raw value, also with hyphens instead of underscores.
struct ArgumentChoice<Value: RawRepresentable<String> & CaseIterable & Sendable>: ExpressibleByArgument, Sendable {
    let value: Value

    init?(argument: String) {
        guard let value = Value.allCases.first(where: { Self.text(of: $0) == argument || $0.rawValue == argument })
        else { return nil }
        self.value = value
    }

    static var allValueStrings: [String] { Value.allCases.map(text) }

    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }

    private static func text(of value: Value) -> String { value.rawValue.replacing("_", with: "-") }
}

enum FlagValue {
    /// Parses the value of an option; nil if it was not given. `flag` is used in the message, for example `--jobs`.
    static func read<Value>(
        _ text: String?,
        _ flag: String,
        _ parse: (String) throws(InvalidValue) -> Value
    ) throws(UserFacingError) -> Value? {
        guard let text else { return nil }
        do {
            return try parse(text)
        } catch {
            throw .usage("\(flag): \(ErrorCatalog.quoted(text)) \(error.rule)", hint: error.hint)
        }
    }
}

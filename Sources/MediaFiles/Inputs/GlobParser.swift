/// Reads a pattern into a program, by recursive descent over its braces.
struct GlobParser {
    /// What is wrong with a pattern.
    struct Failure: Error {
        var reason: String
    }

    /// Whether the pattern holds a slash of its own.
    private(set) var hasSlash = false

    private let pattern: [Unicode.Scalar]
    private var position = 0
    private var depth = 0
    /// Whether what comes next stands at the start of a path component.
    private var isAtComponentStart = true

    /// Deep enough for any pattern a person writes; the parser's own stack must stay small.
    private static let greatestDepth = 16

    init(_ pattern: [Unicode.Scalar]) {
        self.pattern = pattern
    }

    /// Whether the last character is a slash that no backslash precedes.
    static func endsInSlash(_ pattern: [Unicode.Scalar]) -> Bool {
        guard pattern.last == "/" else { return false }
        return pattern.dropLast().reversed().prefix { $0 == "\\" }.count.isMultiple(of: 2)
    }

    mutating func program() throws(Failure) -> GlobProgram {
        let steps = try sequence()
        guard position == pattern.count else { throw Failure(reason: "\"}\" without \"{\"") }
        return GlobProgram(steps: steps)
    }

    /// Up to the end, or to the comma or brace that ends an alternative.
    private mutating func sequence() throws(Failure) -> [GlobProgram.Step] {
        var steps: [GlobProgram.Step] = []
        while let scalar = peek() {
            switch scalar {
            case "}": return steps
            case "," where depth > 0: return steps
            case "*": steps += stars()
            case "{": steps += try alternatives()
            case "[": steps.append(.take(try brackets()))
            case "?":
                position += 1
                isAtComponentStart = false
                steps.append(.take(.anyInComponent))
            default: steps.append(.take(.scalar(try literal().value)))
            }
        }
        return steps
    }

    /// One character that stands for itself.
    private mutating func literal() throws(Failure) -> Unicode.Scalar {
        if peek() == "\\" {
            position += 1
            guard position < pattern.count else { throw Failure(reason: "nothing follows the backslash") }
        }
        let scalar = pattern[position]
        position += 1
        isAtComponentStart = scalar == "/"
        if scalar == "/" { hasSlash = true }
        return scalar
    }

    private mutating func stars() -> [GlobProgram.Step] {
        let start = position
        while peek() == "*" { position += 1 }
        guard position - start > 1 else {
            isAtComponentStart = false
            return Self.repeated(.anyInComponent)
        }
        guard isAtComponentStart, peek() == "/" else {
            isAtComponentStart = false
            return Self.repeated(.any)
        }
        position += 1
        hasSlash = true
        let directories = Self.repeated(.any) + [.take(.scalar(0x2F))]
        return [.fork(1, directories.count + 1)] + directories
    }

    private static func repeated(_ matcher: GlobProgram.Matcher) -> [GlobProgram.Step] {
        [.fork(1, 3), .take(matcher), .jump(-2)]
    }

    private mutating func alternatives() throws(Failure) -> [GlobProgram.Step] {
        guard depth < Self.greatestDepth else { throw Failure(reason: "braces are nested too deeply") }
        depth += 1
        let startsComponent = isAtComponentStart
        var allEndComponent = true
        var branches: [[GlobProgram.Step]] = []
        repeat {
            position += 1
            isAtComponentStart = startsComponent
            branches.append(try sequence())
            allEndComponent = allEndComponent && isAtComponentStart
        } while peek() == ","
        guard peek() == "}" else { throw Failure(reason: "\"{\" without \"}\"") }
        position += 1
        depth -= 1
        isAtComponentStart = allEndComponent
        return Self.joined(branches)
    }

    /// Each branch but the last is preceded by a fork to the next one and followed by a jump to the end.
    private static func joined(_ branches: [[GlobProgram.Step]]) -> [GlobProgram.Step] {
        var joined = branches.last ?? []
        for branch in branches.dropLast().reversed() {
            joined = [.fork(1, branch.count + 2)] + branch + [.jump(joined.count + 1)] + joined
        }
        return joined
    }

    private mutating func brackets() throws(Failure) -> GlobProgram.Matcher {
        position += 1
        let isNegated = peek() == "!" || peek() == "^"
        if isNegated { position += 1 }
        var ranges: [ClosedRange<UInt32>] = []
        // A closing bracket that comes first is a member.
        while ranges.isEmpty || peek() != "]" {
            let first = try member()
            var last = first
            if peek() == "-", position + 1 < pattern.count, pattern[position + 1] != "]" {
                position += 1
                last = try member()
            }
            guard first.value <= last.value else {
                throw Failure(reason: "the range \(first)-\(last) ends before it begins")
            }
            ranges.append(first.value...last.value)
        }
        position += 1
        isAtComponentStart = false
        return .ranges(ranges, isNegated: isNegated)
    }

    private mutating func member() throws(Failure) -> Unicode.Scalar {
        if peek() == "[", position + 1 < pattern.count, ":.=".unicodeScalars.contains(pattern[position + 1]) {
            throw Failure(reason: "names of classes such as [:alpha:] are not known")
        }
        if peek() == "\\" { position += 1 }
        guard let scalar = peek() else { throw Failure(reason: "\"[\" without \"]\"") }
        guard scalar != "/" else { throw Failure(reason: "a slash cannot be in brackets") }
        position += 1
        return scalar
    }

    private func peek() -> Unicode.Scalar? {
        position < pattern.count ? pattern[position] : nil
    }
}

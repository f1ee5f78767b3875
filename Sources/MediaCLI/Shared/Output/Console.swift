internal import Foundation
internal import MediaCore
internal import MediaSystem
internal import Outcomes
internal import Synchronization

/// The output of a command: results as text or JSON records on standard output, everything else on standard error.
/// JSON output has exactly one `summary` or `error` record, and it is the last line.
final class Console: Sendable {
    let context: CommandContext
    /// For example `mediactl.upload/1`.
    let schema: String
    let isJSON: Bool
    /// Whether to write progress records.
    let writesProgress: Bool
    let isQuiet: Bool
    let verbosity: Int
    let screen: ScreenArea

    /// Reserves the last record.
    private let finish = Once()
    /// Reserves the error message about results that cannot be written.
    private let outputFailureReport = Once()
    private let styles: Mutex<Styles>
    private let hintOptions = Mutex(HintOptions())
    private let closingWork = Mutex<[@Sendable () -> Void]>([])
    /// Whether notes, warnings and errors are suppressed, as for a plan: the run that follows it prints them.
    private let isMuted: Bool
    /// Receives the summary of one part of a command, since a command has only one summary.
    private let onSummary: (@Sendable (JSONObject) -> Void)?

    init(_ context: CommandContext, schema: String, preferences: OutputPreferences) {
        self.context = context
        self.schema = schema
        isJSON = preferences.isJSON
        writesProgress = preferences.writesProgress
        isQuiet = preferences.isQuiet
        verbosity = preferences.verbosity
        styles = Mutex(Styles(preferences.color ?? .auto, context))
        onSummary = nil
        isMuted = false
        let terminal = context.terminal
        let descriptor = context.errors.descriptor
        screen = ScreenArea(context.errors) { terminal.columns(descriptor) }
    }

    /// Creates a console for one part of a command: its records have a different schema, and its summary goes to
    /// `onSummary`. If it is muted, it prints only results.
    init(
        part schema: String,
        of whole: Console,
        isMuted: Bool = false,
        onSummary: @escaping @Sendable (JSONObject) -> Void
    ) {
        context = whole.context
        self.schema = schema
        (isJSON, writesProgress) = (whole.isJSON, whole.writesProgress)
        (isQuiet, verbosity) = (whole.isQuiet, whole.verbosity)
        screen = whole.screen
        styles = Mutex(whole.styles.withLock { $0 })
        self.onSummary = onSummary
        self.isMuted = isMuted
        use(whole.hintOptions.withLock { $0 })
    }

    // MARK: Results

    /// The kinds of records that precede the last one.
    enum Record: String {
        case start
        case progress
        case item
        case verification
    }

    /// Writes a record. JSON only.
    func record(_ kind: Record, _ members: @autoclosure () -> JSONObject) {
        guard isJSON else { return }
        write(kind.rawValue, members())
    }

    /// Writes the first record of a command that reports items one by one. JSON only.
    ///
    /// - Throws: `UserFacingError` if its results cannot be written, before the work starts.
    func start(_ members: @autoclosure () -> JSONObject) throws(UserFacingError) {
        record(.start, members())
        try requireOutput()
    }

    /// Writes many records at once. JSON only.
    func records(_ kind: Record, _ all: @autoclosure () -> [JSONObject]) {
        guard isJSON else { return }
        var text: [UInt8] = []
        for members in all() { append(kind.rawValue, members, to: &text) }
        guard !text.isEmpty else { return }
        screen.above { context.output.write(text) }
    }

    /// Writes lines of text, unless the output is JSON.
    func text(_ lines: @autoclosure () -> [String]) {
        guard !isJSON else { return }
        let lines = completed(lines())
        guard !lines.isEmpty else { return }
        screen.above { context.output.write(lines.joined(separator: "\n") + "\n") }
    }

    /// Writes a table that fits the terminal, as text only. Writes nothing if there are no rows. For one part of a
    /// table, `naturalWidths` contains the widths for the whole table, and only the first part has the header.
    func table(_ table: @autoclosure () -> Table, naturalWidths: [Int]? = nil, hasHeader: Bool = true) {
        guard !isJSON else { return }
        let table = table()
        guard !table.isEmpty else { return }
        let text = table.text(
            fitting: outputWidth,
            style: outputStyle,
            naturalWidths: naturalWidths,
            hasHeader: hasHeader
        )
        screen.above { context.output.write(text) }
    }

    /// Writes a result, as a record or as text. If that fails, the text goes to standard error, where the user can see
    /// what was done.
    func result(_ members: @autoclosure () -> JSONObject, _ lines: [String]) {
        record(.item, members())
        text(lines)
        if outputFailure != nil, !lines.isEmpty {
            announce(lines)
        }
    }

    func result(_ item: some RunItem) { result(item.json, item.text(outputStyle)) }

    /// Writes the last record. JSON only. Later calls are ignored.
    func summary(_ members: @autoclosure () -> JSONObject) {
        if let onSummary { return onSummary(members()) }
        guard isJSON, finish.begin() else { return }
        write("summary", members())
    }

    /// Writes the summary of a command that succeeded, which ends with the exit code, and returns the code.
    func finish(_ members: @autoclosure () -> JSONObject) -> ExitCode { ending(.success).summary(members()) }

    /// The end of a command with this code, unless a signal or the output determines a different code.
    func ending(_ code: ExitCode) -> Ending { Ending(console: self, code: exitCode(code)) }

    /// Whether to continue: no signal was received, and results can be written.
    var mayContinue: Bool { context.interruption.signal == nil && context.output.failure == nil }

    /// Reports that the whole command failed: prints the message and the hint and, in JSON, writes the last record.
    func fail(_ userFacingError: UserFacingError) {
        error(userFacingError)
        endAtQuestion(userFacingError)
    }

    /// Ends a command that was interrupted at a prompt. Prints no error; in JSON, there is an `error` record.
    func endAtQuestion(_ userFacingError: UserFacingError) {
        guard isJSON, finish.begin() else { return }
        write("error", JSONRenderer.fatal(userFacingError))
    }

    private func write(_ type: String, _ members: JSONObject) {
        var line: [UInt8] = []
        append(type, members, to: &line)
        screen.above { context.output.write(line) }
    }

    private func append(_ type: String, _ members: JSONObject, to text: inout [UInt8]) {
        let head: JSONObject = ["schema": .string(schema), "type": .string(type)]
        let record = hintOptions.withLock { $0 }.added(to: head + members)
        record.append(to: &text, isForTerminals: true)
        text.append(UInt8(ascii: "\n"))
    }

    // MARK: Messages

    /// Informational; suppressed by `-q`.
    func note(_ message: String) {
        guard !isQuiet else { return }
        emit(errorStyle.dim("note:"), message)
    }

    func warning(_ message: String, hint: String? = nil) {
        emit(errorStyle.yellow("warning:"), message)
        if let hint { self.hint(hint) }
    }

    func error(_ userFacingError: UserFacingError) {
        guard !isMuted else { return }
        emit(errorStyle.red("error:"), userFacingError.message)
        if !userFacingError.details.isEmpty {
            announce(userFacingError.details.map { "  " + $0 })
        }
        if let hint = userFacingError.hint { self.hint(hint) }
    }

    /// Prints a hint without an error.
    func hint(_ message: String) {
        emit("hint:", hintOptions.withLock { $0 }.added(to: message))
    }

    /// Printed only with `-v`.
    func trace(_ message: @autoclosure () -> String) {
        guard verbosity > 0 else { return }
        emit(errorStyle.dim("trace:"), message())
    }

    func announce(_ lines: [String]) {
        let text = completed(lines).joined(separator: "\n") + "\n"
        screen.above { context.errors.write(text) }
    }

    private func completed(_ lines: [String]) -> [String] {
        let options = hintOptions.withLock { $0 }
        return lines.map { options.addingPlaces(to: $0) }
    }

    private func emit(_ kind: String, _ message: String) {
        guard !isMuted else { return }
        announce(["mediactl: \(kind) \(message)"])
    }

    // MARK: Appearance

    /// Sets the color mode, since the settings are read only after the console is created.
    func use(_ mode: ColorMode) {
        styles.withLock { $0 = Styles(mode, context) }
    }

    /// The options for printed commands, with the server; nil if the command line specifies a server, which is then
    /// added.
    func hintOptions(naming server: String) -> HintOptions? {
        var options = hintOptions.withLock { $0 }
        guard options.server == nil else { return nil }
        options.server = server
        return options
    }

    /// Adds options of the command line to printed commands.
    func use(_ options: HintOptions) {
        hintOptions.withLock { $0 = options }
    }

    private struct Styles {
        let output: Style
        let errors: Style

        init(_ mode: ColorMode, _ context: CommandContext) {
            let terminal = context.terminal
            output = Style(mode, isTerminal: terminal.isOutputTerminal, environment: context.environment)
            errors = Style(mode, isTerminal: terminal.isErrorTerminal, environment: context.environment)
        }
    }

    var outputStyle: Style { styles.withLock { $0.output } }
    var errorStyle: Style { styles.withLock { $0.errors } }

    /// The width that text on standard output must fit; nil if it is not a terminal.
    var outputWidth: Int? {
        context.terminal.isOutputTerminal ? context.terminal.columns(context.output.descriptor) : nil
    }

    // MARK: End of the command

    /// Adds work to run after the command has finished. A signal cancels it.
    func atEnd(_ work: @escaping @Sendable () -> Void) {
        closingWork.withLock { $0.append(work) }
    }

    /// Runs the work added with `atEnd` once.
    func finishClosingWork() {
        let all = closingWork.withLock { work in
            defer { work = [] }
            return work
        }
        guard context.interruption.signal == nil else { return }
        for work in all { work() }
    }

    /// Adjusts an exit code: a signal takes precedence, and results that could not be written are a failure. A closed
    /// pipe is not a failure, since its reader needs no more output.
    func exitCode(_ code: ExitCode) -> ExitCode {
        let code = context.interruption.signal?.exitCode ?? code
        guard let outputFailure else { return code }
        if outputFailureReport.begin() {
            error(outputFailure)
        }
        return code == .success ? outputFailure.exitCode : code
    }

    /// Fails before the work starts if its results cannot be written.
    ///
    /// - Throws: `UserFacingError` if standard output is already known to fail.
    func requireOutput() throws(UserFacingError) {
        context.output.probe()
        guard let outputFailure else { return }
        _ = outputFailureReport.begin()
        throw outputFailure
    }

    /// The reason why results could not be written. A closed pipe is not a failure, since its reader needs no more
    /// output.
    private var outputFailure: UserFacingError? {
        guard let failure = context.output.failure, failure != EPIPE else { return nil }
        let reason = failure == EBADF ? "it is closed" : SystemError.words(failure)
        return UserFacingError(.outputFailed, "cannot write to standard output: \(reason)")
    }
}

/// Options of the command line that a printed command needs as well: without `--server` and `--user`, it would use the
/// server from the environment or the settings, or none; without `--data-dir`, `--config` and `--profile`, different
/// tokens and settings; without `choices`, a different library.
struct HintOptions: Sendable {
    var server: String?
    var user: String?
    /// `--data-dir`
    var dataDirectory: String?
    /// `--config`
    var settingsFile: String?
    /// `--profile`
    var profile: String?
    /// The library or the profile of the server, by `ConnectionFlags.hintKeys`.
    var choices: [SettingKey: String] = [:]

    private var isEmpty: Bool {
        (server ?? user ?? dataDirectory ?? settingsFile ?? profile) == nil && choices.isEmpty
    }

    /// Adds `--data-dir`, `--config` and `--profile` to each command in a line, and `--server` to each `ServerCommand`
    /// and, with `--profile`, to each `ServerFilterCommand`. The options are inserted before the command's name, where
    /// they are also accepted; `--server` of a `ServerFilterCommand` and the `choices` that the command accepts follow
    /// its name. Quoted titles and paths are unchanged.
    func addingPlaces(to line: String) -> String {
        guard !isEmpty, Self.hasCommand(line) else { return line }
        let starts = line.ranges(of: /(?:^|[ (])mediactl (?=[a-z])/)
        var completed = ""
        var end = line.startIndex
        for (index, start) in starts.enumerated() {
            completed += line[end..<start.upperBound]
            end = start.upperBound
            // A command that repeats the user's command line already has these options.
            let words = line[end..<(index + 1 < starts.count ? starts[index + 1].lowerBound : line.endIndex)]
            guard let (command, nameEnd) = MediactlCommand.printed(words), command != Help.self else { continue }
            func isMissing(_ name: String) -> Bool { !words.contains("\(name) ") && !words.contains("\(name)=") }
            let options = [
                ("--data-dir", dataDirectory), ("--config", settingsFile), ("--profile", profile),
                ("--server", command is any ServerCommand.Type ? server : nil),
            ]
            for (name, value) in options {
                guard let value, isMissing(name) else { continue }
                completed += "\(name) \(ShellWord.quoted(value)) "
            }
            completed += line[end..<nameEnd]
            end = nameEnd
            if profile != nil, let server, isMissing("--server"), command is any ServerFilterCommand.Type {
                completed += " --server \(ShellWord.quoted(server))"
            }
            for key in (command as? any ContextCommand.Type)?.hintKeys ?? [] {
                guard let value = choices[key], isMissing(key.flag) else { continue }
                completed += " \(key.flag) \(ShellWord.quoted(value))"
            }
        }
        return completed + line[end...]
    }

    /// In a large batch, `String.contains` would take longer than everything else that is done for a line.
    private static func hasCommand(_ line: String) -> Bool {
        let command = "mediactl ".utf8
        var line = line
        return line.withUTF8 { bytes in
            bytes.indices.contains { bytes[$0] == UInt8(ascii: "m") && bytes[$0...].starts(with: command) }
        }
    }

    /// Adds the missing options to the command at the end of a hint, if it is an `UploadServerCommand`.
    func added(to hint: String) -> String {
        let form = /mediactl ([a-z]+(?: [a-z]+)*)(?: (?:[0-9a-f]+|--[a-z0-9-]+|keep|remove))*$/
        guard let match = hint.firstMatch(of: form),
            MediactlCommand.printed(match.1)?.command is any UploadServerCommand.Type
        else { return hint }
        var options = server.map { " --server \(ShellWord.quoted($0))" } ?? ""
        if let user {
            // A hint for the administrator requires the login of a different user.
            options += " --user \(match.0.contains("--as-admin") ? "admin" : ShellWord.quoted(user))"
        }
        return hint + options
    }

    /// Makes the commands in a record identical to the printed ones: in its hint, in `next` and in its warnings.
    func added(to record: JSONObject) -> JSONObject {
        guard !isEmpty else { return record }
        var record = record
        if let error = record["error"]?.members, let hint = error["hint"]?.text {
            let completed = addingPlaces(to: added(to: hint))
            record = record.replacing(["error": .object(error.replacing(["hint": .string(completed)]))])
        }
        if let next = record["next"]?.text {
            record = record.replacing(["next": .string(addingPlaces(to: next))])
        }
        if case .array(let warnings)? = record["warnings"] {
            let completed = warnings.map { warning -> JSONValue in
                guard let members = warning.members, let message = members["message"]?.text else { return warning }
                return .object(members.replacing(["message": .string(addingPlaces(to: message))]))
            }
            record = record.replacing(["warnings": .array(completed)])
        }
        return record
    }
}

/// The end of a command. The summary methods write the summary and return the exit code, which is the last member of
/// the summary.
struct Ending {
    let console: Console
    var code: ExitCode

    func summary(_ members: JSONObject) -> ExitCode {
        console.summary(members + ["exit_code": .exitCode(code)])
        return code
    }

    /// For interruptible work: adds `duration_ms` if given, and `signal`.
    func runSummary(_ members: JSONObject, after duration: Duration? = nil) -> ExitCode {
        console.summary(self.members(members, after: duration))
        return code
    }

    /// The members of the same summary, for a report.
    func members(_ members: JSONObject, after duration: Duration?) -> JSONObject {
        let took: JSONObject = duration.map { ["duration_ms": .integer(Formats.milliseconds($0))] } ?? [:]
        let signal = JSONValue(console.context.interruption.signal?.name)
        return members + took + ["signal": signal, "exit_code": .exitCode(code)]
    }

    /// For items processed one at a time: `total`, the number of `states` equal to each of `names`, and the number of
    /// items not started.
    func summary(of total: Int, _ states: [String], counting names: [String]) -> ExitCode {
        let counts = names.map { name in (name: name, value: JSONValue(states.count { $0 == name })) }
        return runSummary(
            ["items": JSONValue(total)] + JSONObject(counts) + ["not_started": JSONValue(total - states.count)]
        )
    }
}

/* SPDX-License-Identifier: MIT */
/*
 * The files with code of a process, as the process sees them, or of a program that is not started
 * yet.
 */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/process-root.h"
#include "debug.h"

#define MODULES_MAX 4096
#define SYMBOLS_MAX (1u << 22)

struct resolve *resolve_new(void)
{
	struct resolve *resolve =
			elf_version(EV_CURRENT) == EV_NONE ? NULL : calloc(1, sizeof(*resolve));

	if (resolve)
		resolve->memory = -1;
	return resolve;
}

void resolve_free(struct resolve *resolve)
{
	if (!resolve)
		return;
	for (size_t i = 0; i < resolve->nr_modules; i++) {
		struct resolve_module *module = &resolve->modules[i];

		debug_close(module->debug);
		code_close(module->code);
		if (module->elf)
			elf_end(module->elf);
		if (module->fd >= 0)
			close(module->fd);
		free(module->path);
		free(module->our_path);
	}
	if (resolve->memory >= 0)
		close(resolve->memory);
	free(resolve->modules);
	free(resolve);
}

/* ---- the file's identity ---- */

static uint32_t spec_module_parse_build_id(Elf_Data *data, uint8_t ret_id[PROBE_TABLE_BUILD_ID_MAX])
{
	size_t at = 0, name, content;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &content)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
				memcmp((char *)data->d_buf + name, "GNU", 4) != 0 ||
				note.n_descsz > PROBE_TABLE_BUILD_ID_MAX)
			continue;
		memcpy(ret_id, (char *)data->d_buf + content, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}

/* Search segments, not sections: the agent in the program searches there too. */
static void spec_module_read_build_id(struct resolve_module *module)
{
	size_t count;

	if (!module->elf || elf_getphdrnum(module->elf, &count))
		return;
	for (size_t i = 0; !module->build_id_size && i < count && i < 65536; i++) {
		GElf_Phdr segment;

		if (gelf_getphdr(module->elf, (int)i, &segment) && segment.p_type == PT_NOTE)
			module->build_id_size = spec_module_parse_build_id(
					elf_getdata_rawchunk(module->elf, (int64_t)segment.p_offset,
							segment.p_filesz, ELF_T_NHDR),
					module->build_id);
	}
}

Elf *module_elf(struct resolve_module *module)
{
	if (module->elf)
		return module->elf;
	/*
	 * Read the file, do not map it: if another process truncates it, access to the mapping
	 * would be fatal.
	 */
	module->elf = elf_begin(module->fd, ELF_C_READ, NULL);
	if (module->elf && elf_kind(module->elf) != ELF_K_ELF) {
		elf_end(module->elf);
		module->elf = NULL;
	}
	spec_module_read_build_id(module);
	return module->elf;
}

int module_code(struct resolve_module *module, struct error *error)
{
	int ret;

	if (module->code)
		return 0;
	ret = code_open_fd(module->fd, module->path, &module->code, error);
	if (ret) {
		module->refused = true;
		module->unread = ret == -ENOEXEC || ret == -EFBIG ? 0 : ret;
		module->code = NULL;
		return ret;
	}
	(void)module_elf(module);
	/* The mapping and the file together give the load bias. */
	if (module->loaded &&
			(module->head ? code_bias_of_head(module->code, module->head, &module->bias)
				      : code_bias(module->code, module->begin, module->offset,
							&module->bias)))
		module->loaded = false;
	return 0;
}

bool resolve_is_library(const char *file_name, const char *library)
{
	size_t length = strlen(library);

	if (!fnmatch(library, file_name, 0))
		return true;
	/*
	 * "libc" selects libc.so.6, "libfoo" libfoo-1.2.so, and "_ssl" the extension
	 * _ssl.cpython-311-x86_64-linux-gnu.so of Python.
	 */
	return !strncmp(file_name, library, length) &&
			(!strncmp(file_name + length, ".so", 3) ||
					((file_name[length] == '-' || file_name[length] == '.') &&
							strstr(file_name + length, ".so")));
}

bool module_is(const struct resolve_module *module, const char *library)
{
	return strchr(library, '/') ? !fnmatch(library, module->path, 0)
				    : resolve_is_library(module->name, library);
}

/* ---- symbols of variables ---- */

struct symbol_search {
	const char *name;
	bool of_thread;
	GElf_Sym found;
};

static bool search_section(Elf *elf, Elf_Scn *section, struct symbol_search *search)
{
	GElf_Shdr header;
	Elf_Data *data;
	size_t count;

	if (!gelf_getshdr(section, &header) || !header.sh_entsize ||
			(header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
		return false;
	data = elf_getdata(section, NULL);
	count = data ? data->d_size / header.sh_entsize : 0;
	for (size_t i = 0; i < count && i < SYMBOLS_MAX; i++) {
		const char *name;

		if (!gelf_getsym(data, (int)i, &search->found) ||
				search->found.st_shndx == SHN_UNDEF ||
				(GELF_ST_TYPE(search->found.st_info) == STT_TLS) !=
						search->of_thread ||
				(!search->of_thread && !search->found.st_value))
			continue;
		name = elf_strptr(elf, header.sh_link, search->found.st_name);
		if (name && !strcmp(name, search->name))
			return true;
	}
	return false;
}

static bool search_symbols(struct resolve_module *module, struct symbol_search *search)
{
	Elf *elf = module_elf(module);
	Elf_Scn *section = NULL;

	while (elf && (section = elf_nextscn(elf, section))) {
		if (search_section(elf, section, search))
			return true;
	}
	return false;
}

bool module_symbol(struct resolve_module *module, const char *name, uint64_t *ret_address)
{
	struct symbol_search search = {.name = name};

	if (!search_symbols(module, &search))
		return false;
	*ret_address = search.found.st_value;
	return true;
}

bool module_is_local(struct resolve_module *module, const char *function)
{
	struct symbol_search search = {.name = function};

	return search_symbols(module, &search) && GELF_ST_BIND(search.found.st_info) == STB_LOCAL;
}

bool module_thread_symbol(struct resolve_module *module, const char *name, uint64_t *ret_offset)
{
	struct symbol_search search = {.name = name, .of_thread = true};

	if (!search_symbols(module, &search))
		return false;
	*ret_offset = search.found.st_value;
	return true;
}

/* ---- find the modules ---- */

static struct resolve_module *spec_module_add(struct resolve *resolve, const char *path, int fd)
{
	struct resolve_module *module;
	const char *slash;

	if (resolve->nr_modules >= resolve->capacity) {
		size_t capacity = resolve->capacity ? 2 * resolve->capacity : 64;
		void *more = capacity <= MODULES_MAX
				? reallocarray(resolve->modules, capacity, sizeof(*module))
				: NULL;

		if (!more)
			return NULL;
		resolve->modules = more;
		resolve->capacity = capacity;
	}
	module = &resolve->modules[resolve->nr_modules];
	*module = (struct resolve_module){.fd = fd, .path = strdup(path)};
	if (!module->path)
		return NULL;
	slash = strrchr(module->path, '/');
	module->name = slash ? slash + 1 : module->path;
	resolve->nr_modules++;
	return module;
}

/* Whether the path leads to the open file. */
static bool spec_module_is_file_of(const char *path, const struct stat *open)
{
	struct stat here;

	return !stat(path, &here) && here.st_dev == open->st_dev && here.st_ino == open->st_ino;
}

/*
 * The resolved path of an open file, or `path` itself if it does not lead to that file. The caller
 * frees it. NULL: errno is set.
 */
static char *module_full_path(const char *path, int fd)
{
	struct stat open;
	char *full;

	if (fstat(fd, &open))
		return NULL;
	full = realpath(path, NULL);
	if (!full && errno == ENOMEM)
		return NULL;
	/* The text of a link such as /proc/PID/exe may be a path of another mount namespace. */
	if (full && spec_module_is_file_of(full, &open))
		return full;
	free(full);
	return strdup(path);
}

int resolve_add_file(struct resolve *resolve, const char *path, struct error *error)
{
	/* Do not block: the user may have named a pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct resolve_module *module;
	char *full;

	if (fd < 0)
		return error_set(
				error, -errno, "", "cannot open %.256s: %s", path, strerror(errno));
	full = module_full_path(path, fd);
	if (!full) {
		int ret = -errno;

		close(fd);
		return error_set_system(error, ret, "cannot inspect %.256s", path);
	}
	module = spec_module_add(resolve, full, fd);
	free(full);
	if (!module) {
		close(fd);
		return error_set_no_memory(error);
	}
	module->executable = resolve->nr_modules == 1;
	/*
	 * Report at once that the program itself cannot be probed; for its libraries this is not an
	 * error.
	 */
	return module->executable ? module_code(module, error) : 0;
}

/* ---- files that are loaded later ---- */

void resolve_set_later(struct resolve *resolve, resolve_later_fn *later, void *user)
{
	resolve->later = later;
	resolve->later_user = user;
}

/* Finds a file that was added before under any path. */
static struct resolve_module *spec_module_find_file(const struct resolve *resolve, int fd)
{
	struct stat open, known;

	for (size_t i = 0; i < resolve->nr_modules && !fstat(fd, &open); i++) {
		if (!fstat(resolve->modules[i].fd, &known) && known.st_dev == open.st_dev &&
				known.st_ino == open.st_ino)
			return &resolve->modules[i];
	}
	return NULL;
}

int resolve_add_later(struct resolve *resolve, const char *path, int fd, struct error *error)
{
	struct resolve_module *module;
	int ret;

	if (fd < 0)
		return error_set(error, fd, "", "cannot open %.256s: %s", path, strerror(-fd));
	module = spec_module_find_file(resolve, fd);
	if (module) {
		close(fd);
	} else {
		module = spec_module_add(resolve, path, fd);
		if (!module) {
			close(fd);
			return error_set_no_memory(error);
		}
		module->later = true;
	}
	ret = module_code(module, error);
	module->named = !ret;
	return ret;
}

/* ---- files of a process ---- */

struct module_mapping {
	uint64_t begin, end, offset, inode;
	bool is_code;
	char *path; /* points into the line; empty: no file */
	uint64_t head;
};

static bool spec_module_parse_mapping(char *line, struct module_mapping *ret_mapping)
{
	char flags[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*x:%*x %" SCNu64 " %n",
			    &ret_mapping->begin, &ret_mapping->end, flags, &ret_mapping->offset,
			    &ret_mapping->inode, &path) != 5 ||
			!path)
		return false;
	ret_mapping->is_code = flags[2] == 'x';
	ret_mapping->path = line + path;
	ret_mapping->path[strcspn(ret_mapping->path, "\n")] = '\0';
	ret_mapping->head = 0;
	return true;
}

/* Whether the mapping is of a library that side itself brought into the process. */
static bool spec_module_is_own_mapping(const struct module_mapping *mapping, uint64_t program)
{
	const char *slash = strrchr(mapping->path, '/');

	return !strcmp(slash + 1, "libside-agent.so") || !strncmp(slash + 1, "libside.so", 10) ||
			(!strncmp(mapping->path, "/memfd:", 7) && mapping->inode != program);
}

static int open_checked(const char *path, uint64_t inode, struct stat *ret_status)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && !fstat(fd, ret_status) && ret_status->st_ino == inode)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Open the mapped file, even if its path now leads to another file or none. */
static int spec_module_open_mapped(
		pid_t pid, const struct module_mapping *mapping, struct stat *ret_status)
{
	char *path;
	int fd = -1;

	if (asprintf(&path, "/proc/%ld/root%s", (long)pid, mapping->path) > 0) {
		fd = open_checked(path, mapping->inode, ret_status);
		free(path);
	}
	if (fd < 0 &&
			asprintf(&path, "/proc/%ld/map_files/%" PRIx64 "-%" PRIx64, (long)pid,
					mapping->begin, mapping->end) > 0) {
		fd = open_checked(path, mapping->inode, ret_status);
		free(path);
	}
	if (fd < 0 && asprintf(&path, "/proc/%ld/exe", (long)pid) > 0) {
		fd = open_checked(path, mapping->inode, ret_status);
		free(path);
	}
	/*
	 * The kernel prints paths as we see them, if we do: a program with another root directory
	 * sees other paths.
	 */
	return fd < 0 ? open_checked(mapping->path, mapping->inode, ret_status) : fd;
}

/*
 * Returns a path that leads from here to the mapped file, for the kernel, which opens it here.
 * NULL: use its own path, or there is none.
 */
static char *module_path_from_here(
		pid_t pid, const struct module_mapping *mapping, const struct stat *status)
{
	char *path = NULL;

	if (spec_module_is_file_of(mapping->path, status))
		return NULL;
	if (asprintf(&path, "/proc/%ld/root%s", (long)pid, mapping->path) > 0 &&
			spec_module_is_file_of(path, status))
		return path;
	free(path);
	/* The file was deleted or replaced. */
	if (asprintf(&path, "/proc/%ld/exe", (long)pid) > 0 && spec_module_is_file_of(path, status))
		return path;
	free(path);
	if (asprintf(&path, "/proc/%ld/map_files/%" PRIx64 "-%" PRIx64, (long)pid, mapping->begin,
			    mapping->end) > 0 &&
			spec_module_is_file_of(path, status))
		return path;
	free(path);
	return NULL;
}

static struct resolve_module *spec_module_find_known(
		const struct resolve *resolve, const char *path)
{
	for (size_t i = 0; i < resolve->nr_modules; i++) {
		if (!strcmp(resolve->modules[i].path, path))
			return &resolve->modules[i];
	}
	return NULL;
}

/* Code may be mapped in several parts; only the first part determines the load bias. */
static int spec_module_add_mapping(struct resolve *resolve, pid_t pid,
		struct module_mapping *mapping, uint64_t program)
{
	static const char deleted[] = " (deleted)";
	size_t length = strlen(mapping->path);
	struct resolve_module *module;
	struct stat status;
	int fd;

	if (length > sizeof(deleted) - 1 &&
			!strcmp(mapping->path + length - (sizeof(deleted) - 1), deleted))
		mapping->path[length - (sizeof(deleted) - 1)] = '\0';
	if (spec_module_is_own_mapping(mapping, program) ||
			(resolve->only_inode && resolve->only_inode != mapping->inode))
		return 0;
	module = spec_module_find_known(resolve, mapping->path);
	if (module) {
		module->end = mapping->end > module->end ? mapping->end : module->end;
		return 0;
	}
	fd = spec_module_open_mapped(pid, mapping, &status);
	/* A file that can no longer be read causes an error only if the spec selects it. */
	if (fd < 0)
		return 0;
	module = spec_module_add(resolve, mapping->path, fd);
	if (!module) {
		close(fd);
		return -ENOMEM;
	}
	module->our_path = module_path_from_here(pid, mapping, &status);
	module->begin = mapping->begin;
	module->end = mapping->end;
	module->offset = mapping->offset;
	module->head = mapping->head;
	module->loaded = true;
	module->executable = program && mapping->inode == program;
	return 0;
}

/* Consecutive mappings of one file, from its first page on. */
struct mapping_run {
	char *path;
	uint64_t begin, head_end, end, inode;
};

/*
 * Some programs copy their code to other pages, such as huge pages, at the same address. The new
 * mapping has no file; the mapping before it identifies the file.
 */
static bool spec_module_is_moved_code(
		const struct mapping_run *run, const struct module_mapping *mapping)
{
	return run->path && mapping->is_code && mapping->begin == run->end &&
			(!*mapping->path || !strncmp(mapping->path, "/anon_hugepage", 14));
}

static int module_add_mapping(struct resolve *resolve, pid_t pid, struct module_mapping *mapping,
		struct mapping_run *run, uint64_t program)
{
	struct resolve_module *module =
			run->path ? spec_module_find_known(resolve, run->path) : NULL;

	if (spec_module_is_moved_code(run, mapping) && (!module || module->head)) {
		struct module_mapping moved = {.begin = run->begin,
				.end = run->head_end,
				.inode = run->inode,
				.path = run->path,
				.head = run->begin};
		int ret = module ? 0 : spec_module_add_mapping(resolve, pid, &moved, program);

		/* The path may lack the suffix that the kernel adds for deleted files. */
		module = module ? module : spec_module_find_known(resolve, run->path);
		if (module && module->head)
			module->begin = mapping->begin;
		if (module)
			module->end = mapping->end;
		run->end = mapping->end;
		return ret;
	}
	if (*mapping->path != '/')
		return 0;
	if (!mapping->offset && !mapping->is_code) {
		free(run->path);
		*run = (struct mapping_run){.path = strdup(mapping->path),
				.begin = mapping->begin,
				.head_end = mapping->end,
				.end = mapping->end,
				.inode = mapping->inode};
		if (!run->path)
			return -ENOMEM;
	} else if (run->path && !strcmp(run->path, mapping->path)) {
		run->end = mapping->end;
	}
	return mapping->is_code ? spec_module_add_mapping(resolve, pid, mapping, program) : 0;
}

int resolve_add_process(struct resolve *resolve, pid_t pid, struct error *error)
{
	char path[64], *line = NULL;
	struct stat program = {.st_ino = 0};
	struct mapping_run run = {.path = NULL};
	size_t capacity = 0;
	FILE *maps;
	int ret = 0;

	snprintf(path, sizeof(path), "/proc/%ld/exe", (long)pid);
	if (stat(path, &program) && (errno == EACCES || errno == EPERM))
		return error_set(error, -errno, "run as its user, or as root",
				"cannot inspect process %ld: %s", (long)pid, strerror(errno));
	snprintf(path, sizeof(path), "/proc/%ld/maps", (long)pid);
	maps = fopen(path, "re");
	if (!maps && errno == ENOENT)
		return error_set(error, -ESRCH, "`ps` lists the processes",
				"there is no process %ld", (long)pid);
	if (!maps)
		return error_set(error, -errno, "run as its user, or as root",
				"cannot inspect process %ld: %s", (long)pid, strerror(errno));
	while (!ret) {
		struct module_mapping mapping;

		errno = 0;
		if (getline(&line, &capacity, maps) <= 0) {
			ret = feof(maps) ? 0 : -errno;
			break;
		}
		if (spec_module_parse_mapping(line, &mapping))
			ret = module_add_mapping(resolve, pid, &mapping, &run, program.st_ino);
	}
	free(run.path);
	free(line);
	fclose(maps);
	if (ret)
		return error_set_system(error, ret, "cannot inspect process %ld", (long)pid);
	/* Without access to memory, selected indirect functions and semaphores are unknown. */
	snprintf(path, sizeof(path), "/proc/%ld/mem", (long)pid);
	resolve->memory = open(path, O_RDONLY | O_CLOEXEC);
	if (!resolve->nr_modules)
		return error_set(error, -ESRCH, "`ps` lists the processes",
				"cannot probe process %ld: it has no executable file (it is ending, or a kernel thread)",
				(long)pid);
	return 0;
}

int resolve_add_mapped(struct resolve *resolve, pid_t pid, const char *path, struct error *error)
{
	struct stat status;
	int ret = process_root_stat(pid, path, &status);

	if (!ret && !S_ISREG(status.st_mode))
		ret = -EINVAL;
	if (ret)
		return error_set(error, ret, "", "cannot find %.256s: %s", path, strerror(-ret));
	resolve->only_inode = status.st_ino;
	return resolve_add_process(resolve, pid, error);
}

void resolve_set_pending(struct resolve *resolve, bool accepts)
{
	resolve->accepts_missing = accepts;
	resolve->offers_missing = !accepts;
}

bool resolve_is_pending(const struct resolve *resolve)
{
	for (size_t i = 0; i < resolve->nr_modules; i++) {
		if (resolve->modules[i].later && resolve->modules[i].reported)
			return true;
	}
	return resolve->has_missing;
}
